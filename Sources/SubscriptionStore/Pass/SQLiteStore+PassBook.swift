import GRDB
package import Subscriptions

/// What a pass has judged so far.
extension SQLiteStore {
    package func stage(
        _ batch: StagedBatch, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) {
        try await write("storing what was judged") { db in
            let run = try RunReference(run, in: pass, db)
            // A plan that is added to is another plan.
            try PlanReader(db: db).breakSeal(ofRun: run.sequence)
            try PassStaging(db: db, run: run).stage(batch)
        }
    }

    package func settled(
        among keys: [SubscriptionKey], in pass: OpenPass
    ) async throws(StoreError) -> Set<SubscriptionKey> {
        try await read("reading which rows are settled") { db in
            let statement = try db.cachedStatement(
                sql: """
                    SELECT 1 FROM trueup_pass_rows WHERE pass_id = ? AND bundle_id = ?
                        AND environment = ? AND original_transaction_id = ?
                        AND verdict <> \(VerdictCode.noted.rawValue)
                    """)
            return try Set(
                keys.filter { key in
                    try Int.fetchOne(statement, arguments: [pass.passID] + key.arguments) != nil
                })
        }
    }

    package func rowsToAskAgain(
        after key: SubscriptionKey?, limit: Int, in pass: OpenPass
    ) async throws(StoreError) -> [SubscriptionKey] {
        try await read("reading rows to ask again") { db in
            // Everything sorts at or after the empty key, which is a key like any other.
            let start = key.map(StoredKey.init) ?? .first
            let statement = try db.cachedStatement(
                sql: """
                    SELECT bundle_id, environment, original_transaction_id
                    FROM trueup_pass_rows INDEXED BY trueup_pass_rows_to_ask_again
                    WHERE pass_id = ? AND asks_again = 1
                        AND (bundle_id, environment, original_transaction_id)
                            \(key == nil ? ">=" : ">") \(start.marks)
                    ORDER BY bundle_id, environment, original_transaction_id LIMIT ?
                    """)
            return try Row.fetchAll(
                statement, arguments: [pass.passID] + start.arguments + [limit]
            ).map { SubscriptionKey($0, at: 0) }
        }
    }

    package func judgedID(
        of app: AppIdentity, in pass: OpenPass
    ) async throws(StoreError) -> String? {
        try await read("reading an id that was judged") { db in
            try String.fetchOne(
                db,
                sql: """
                    SELECT original_transaction_id FROM trueup_pass_rows
                    WHERE pass_id = ? AND bundle_id = ? AND environment = ?
                        AND verdict IN (\(VerdictCode.match.rawValue),
                            \(VerdictCode.discrepancy.rawValue))
                    LIMIT 1
                    """,
                arguments: [pass.passID, app.bundleID, app.environment.rawValue])
        }
    }

    package func heldUnderOtherIDs(
        among keys: [SubscriptionKey], in pass: OpenPass
    ) async throws(StoreError) -> Set<SubscriptionKey> {
        try await read("reading which subscriptions are held under other ids") { db in
            let statement = try db.cachedStatement(
                sql: """
                    SELECT 1 FROM trueup_pass_findings AS f
                        INDEXED BY trueup_pass_findings_of_other_ids
                    WHERE f.pass_id = ? AND f.superseded_by IS NULL
                        AND f.kind IN ('invalid_id', 'migrated')
                        AND f.bundle_id = ? AND f.environment = ? AND f.apple_value = ?
                    """)
            return try Set(
                keys.filter { key in
                    let value = FieldValueText.encode(.text(key.originalTransactionID))
                    return try Int.fetchOne(
                        statement,
                        arguments: [pass.passID, key.bundleID, key.environment, value]) != nil
                })
        }
    }
}
