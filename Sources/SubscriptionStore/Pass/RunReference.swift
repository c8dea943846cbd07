import GRDB
import Subscriptions

/// A run and its pass as the tables name them.
struct RunReference: Sendable {
    let passID: Int64
    /// Runs in the order in which they began.
    let sequence: Int64

    init(passID: Int64, sequence: Int64) {
        self.passID = passID
        self.sequence = sequence
    }

    init(_ run: RunHeader, in pass: OpenPass, _ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: "SELECT run_seq FROM trueup_runs WHERE run_id = ? AND pass_id = ?")
        guard let sequence = try Int64.fetchOne(statement, arguments: [run.runID, pass.passID])
        else {
            throw StoreError.inconsistent(
                "The run \(run.runID) was not begun in this pass; nothing was written.")
        }
        self.passID = pass.passID
        self.sequence = sequence
    }
}
