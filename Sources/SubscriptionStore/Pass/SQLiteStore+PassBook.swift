import GRDB
package import Subscriptions

/// What a pass has judged so far; it outlives a killed process.
///
/// Within a pass each row is settled once: what is staged for a settled row is ignored, unless it
/// `replaces`. Every method is one short transaction.
extension SQLiteStore {
    /// Stores what was judged, in one transaction with the walk's position.
    package func stage(
        _ batch: StagedBatch, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) {
        try await write("storing what was judged") { db in
            let reference = try RunReference(run, in: pass, db)
            // A plan that is added to is another plan.
            try PlanReader(db: db).breakSeal(ofRun: reference.sequence)
            try PassStaging(db: db, run: reference, now: run.started).stage(batch)
        }
    }

    /// Which of these rows the pass has settled.
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

    /// Rows of this pass staged with `asksAgain`, in key order.
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

    /// An id of the app that the pass has judged; `nil` where there is none.
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

    /// Which of these subscriptions a finding of the pass names as the true original or the
    /// successor of a row that we hold under another id: they are held, though not by their own name.
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

/// A verdict as it stands in `trueup_pass_rows` and `trueup_run_totals`.
enum VerdictCode: Int64 {
    /// Something was said about it, but it is no row in scope.
    case noted = 0
    case match = 1
    case discrepancy = 2
    case undecided = 3
    case excluded = 4
    /// This pass inserted it: it was no row when the pass began.
    case inserted = 5

    init(_ verdict: Verdict?) {
        self =
            switch verdict {
            case nil: .noted
            case .match: .match
            case .discrepancy: .discrepancy
            case .undecided: .undecided
            case .excluded: .excluded
            }
    }

    static func reason(of verdict: Verdict?) -> String? {
        switch verdict {
        case .undecided(let reason): reason.rawValue
        case .excluded(let reason): reason.rawValue
        case .match, .discrepancy, nil: nil
        }
    }
}

extension RunTotals {
    /// Adds rows of one verdict.
    mutating func add(_ rows: Int, code: Int64, reason: String) throws {
        switch VerdictCode(rawValue: code) {
        case .match: matched += rows
        case .discrepancy: discrepant += rows
        case .undecided:
            guard let reason = UndecidedReason(rawValue: reason) else { throw unknown(reason) }
            undecided[reason, default: 0] += rows
        case .excluded:
            guard let reason = ExclusionReason(rawValue: reason) else { throw unknown(reason) }
            excluded[reason, default: 0] += rows
        case .noted, .inserted, nil: break
        }
    }

    private func unknown(_ reason: String) -> StoreError {
        .inconsistent("The bookkeeping holds a verdict of unknown reason `\(reason)`.")
    }
}
