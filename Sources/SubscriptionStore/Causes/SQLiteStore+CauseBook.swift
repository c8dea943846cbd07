import GRDB
package import Subscriptions

/// The findings of a pass with what may tell their cause.
extension SQLiteStore {
    /// The parts of the notification histories that the pass has read to their end; nothing of an
    /// app whose history was not read.
    package func historyRead(
        in pass: OpenPass
    ) async throws(StoreError) -> [AppIdentity: NotificationWindow] {
        try await read("reading how far the notification history was read") { db in
            var windows: [AppIdentity: NotificationWindow] = [:]
            let rows = try Row.fetchCursor(
                db,
                sql: """
                    SELECT bundle_id, environment, read_from, read_through
                    FROM trueup_pass_history WHERE pass_id = ?
                    """,
                arguments: [pass.passID])
            while let row = try rows.next() {
                guard let environment = AppStoreEnvironment(rawValue: row.requiredText(at: 1)),
                    let start = row.time(at: 2), let end = row.time(at: 3)
                else { continue }
                let app = AppIdentity(bundleID: row.requiredText(at: 0), environment: environment)
                windows[app] = NotificationWindow(start: start, end: end)
            }
            return windows
        }
    }

    /// Findings of the pass in the order in which they were staged, with the notifications of
    /// their subscriptions.
    package func findingsToExplain(
        after sequence: Int64?, limit: Int, in pass: OpenPass
    ) async throws(StoreError) -> [FindingToExplain] {
        try await read("reading findings to explain") { db in
            try ExplanationPage(db: db, passID: pass.passID).findings(
                after: sequence, limit: limit)
        }
    }

    /// Keeps the causes of findings, by sequence number, for this run's report.
    ///
    /// They count once the run is concluded; a run killed before that leaves none behind.
    package func explain(
        _ causes: [Int64: String], in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) {
        try await write("storing the causes of findings") { db in
            let reference = try RunReference(run, in: pass, db)
            let statement = try db.cachedStatement(
                sql: "INSERT OR REPLACE INTO trueup_run_finding_causes VALUES (?, ?, ?)")
            for (sequence, cause) in causes.sorted(by: { $0.key < $1.key }) {
                try statement.execute(arguments: [reference.sequence, sequence, cause])
            }
        }
    }
}
