import GRDB
import Subscriptions

/// Throwing away what ended passes no longer need, a little at a time.
///
/// Bookkeeping must not grow with every night: of a pass that is over, only what its runs' reports
/// show is kept.
extension SQLiteStore {
    func purgeEndedPasses() async throws(StoreError) {
        let doing = "clearing the bookkeeping of ended passes"
        while try await write(doing, { db in try PassPurge(db: db).step() }) {}
    }
}
