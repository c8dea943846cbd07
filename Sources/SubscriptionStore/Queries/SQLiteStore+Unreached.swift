import GRDB
package import Subscriptions

/// Rows that are still owed an answer.
extension SQLiteStore {
    package func failedLastTime(
        among keys: [SubscriptionKey], before run: RunHeader
    ) async throws(StoreError) -> Set<SubscriptionKey> {
        try await read("reading which rows failed the last time") { db in
            let last = try Int64.fetchOne(
                db,
                sql: """
                    SELECT max(run_seq) FROM trueup_runs
                    WHERE job = ? AND run_id <> ? AND ended IS NOT NULL
                    """,
                arguments: [run.job, run.runID])
            guard let last else { return [] }
            let statement = try db.cachedStatement(
                sql: """
                    SELECT 1 FROM trueup_run_undecided WHERE run_seq = ? AND bundle_id = ?
                        AND environment = ? AND original_transaction_id = ?
                        AND reason = '\(UndecidedReason.unavailable.rawValue)'
                    """)
            return try Set(
                keys.filter { key in
                    try Int.fetchOne(statement, arguments: [last] + key.arguments) != nil
                })
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

    package func unreachedRows(
        in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) -> Int {
        let isWhole = run.coversEveryRow && run.narrowing.isEmpty
        return try await read("counting the rows that were not reached") { db in
            let touched = """
                JOIN trueup_touched AS q ON q.bundle_id = s.bundle_id
                    AND q.environment = s.environment
                    AND q.original_transaction_id = s.original_transaction_id
                    AND q.pass_id = \(pass.passID)
                """
            return try Int.fetchOne(
                db,
                sql: """
                    SELECT count(*) FROM subscriptions AS s \(isWhole ? "" : touched)
                    WHERE NOT \(ScopedRows.isSettled)
                    """,
                arguments: [pass.passID]) ?? 0
        }
    }
}
