import GRDB
package import Subscriptions

/// Whether a run's report stands on the disk: only then may its corrections count as reported.
extension SQLiteStore {
    /// Says, before the run begins, that a report of it will be published.
    ///
    /// If the process is killed before `reportWasPublished`, even after the run was concluded, the
    /// next run's report shows the corrections that this one's would have shown.
    package func reportIsAwaited(ofRun runID: String) async throws(StoreError) {
        try await write("announcing the report of the run \(runID)") { db in
            try db.execute(
                sql: "INSERT OR IGNORE INTO trueup_awaited_reports VALUES (?)",
                arguments: [runID])
        }
    }

    /// Says that the report has its final name.
    package func reportWasPublished(ofRun runID: String) async throws(StoreError) {
        try await write("noting the report of the run \(runID)") { db in
            try db.execute(
                sql: "DELETE FROM trueup_awaited_reports WHERE run_id = ?", arguments: [runID])
        }
    }
}
