import GRDB
package import Subscriptions

/// Whether a run's report is published: only then do its corrections count as reported.
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

    /// Notes that a concluded run ended later: its report is a part of it.
    package func noteEnd(ofRun runID: String, at ended: Timestamp) throws {
        try blockingWrite("noting the end of the run \(runID)", on: connection) { db in
            try db.execute(
                sql: "UPDATE trueup_runs SET ended = ?1 WHERE run_id = ?2 AND ended < ?1",
                arguments: [ended.unixMilliseconds, runID])
        }
    }

    /// Says that the report has its final name.
    package func reportWasPublished(ofRun runID: String) async throws(StoreError) {
        try await write("noting the report of the run \(runID)") { db in
            try db.execute(
                sql: "DELETE FROM trueup_awaited_reports WHERE run_id = ?", arguments: [runID])
        }
    }

    /// Says that the report of a run that ended will not have its final name: the run stands in the
    /// books as one that ended with status 74.
    ///
    /// - Parameters:
    ///   - runID: The run.
    ///   - reason: Why, as a part of a sentence.
    /// - Throws: `StoreError` when the books cannot be written either; the next run notes it then.
    package func reportIsMissing(
        ofRun runID: String, because reason: String
    ) async throws(StoreError) {
        try await write("noting that the run \(runID) left no report") { db in
            try ReportedEntries(db: db).noteMissing(reportOf: runID, because: reason)
        }
    }

    /// Runs whose reports were announced and not said to have their final name.
    package func awaitedReports() throws(StoreError) -> [String] {
        do {
            return try stream("looking for runs without a report") { db in
                try String.fetchAll(
                    db, sql: "SELECT run_id FROM trueup_awaited_reports ORDER BY run_id")
            }
        } catch {
            throw StoreError(error, doing: "looking for runs without a report")
        }
    }

    /// Whether an undo of the run was killed before its report was published.
    package func awaitsReportOfUndo(ofRun runID: String) throws(StoreError) -> Bool {
        do {
            return try stream("looking for undos without a report") { db in
                try Bool.fetchOne(
                    db,
                    sql: """
                        SELECT EXISTS (SELECT 1 FROM trueup_awaited_reports AS a
                            JOIN trueup_runs AS r ON r.run_id = a.run_id
                            JOIN trueup_applications AS u ON u.pass_id = r.pass_id
                            WHERE u.undo_of = ?)
                        """,
                    arguments: [runID]) ?? false
            }
        } catch {
            throw StoreError(error, doing: "looking for undos without a report")
        }
    }
}
