import GRDB
package import Subscriptions

extension SQLiteStore {
    /// What a concluded run reported.
    ///
    /// - Throws: `.unavailable` when there is no such run, or it was never concluded.
    package func runRecord(ofRun runID: String) throws(StoreError) -> any RunRecord {
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
