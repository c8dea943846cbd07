import GRDB
package import Subscriptions

extension SQLiteStore {
    /// What a concluded run reported.
    ///
    /// - Throws: `.unavailable` when there is no such run, or it was never concluded.
    package func runRecord(ofRun runID: String) throws(StoreError) -> SQLiteRunRecord {
        do {
            return try stream("looking for the run \(runID)") { db in
                let found = try Row.fetchOne(
                    db,
                    sql: """
                        SELECT run_seq, pass_id, ended, lists_deleted_at FROM trueup_runs
                        WHERE run_id = ?
                        """,
                    arguments: [runID])
                guard let found, let sequence = found.integer(at: 0) else {
                    throw StoreError.unavailable(
                        "There is no run \(runID) in this database. `trueup status` lists them.")
                }
                guard found.integer(at: 2) != nil else {
                    throw StoreError.unavailable(
                        "The run \(runID) was killed before its end and left no report; what it "
                            + "corrected stands in the report of the run after it.")
                }
                guard found.integer(at: 3) == nil else {
                    throw StoreError.unavailable(
                        "What the run \(runID) listed is past `retention` and was deleted; its "
                            + "report folder is what is left of it.")
                }
                return SQLiteRunRecord(
                    store: self, runID: runID, sequence: sequence,
                    passID: found.integer(at: 1) ?? 0)
            }
        } catch {
            throw StoreError(error, doing: "looking for the run \(runID)")
        }
    }
}

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

    /// Says that the report has its final name.
    package func reportWasPublished(ofRun runID: String) async throws(StoreError) {
        try await write("noting the report of the run \(runID)") { db in
            try db.execute(
                sql: "DELETE FROM trueup_awaited_reports WHERE run_id = ?", arguments: [runID])
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
