import GRDB
package import Subscriptions

extension SQLiteStore {
    package func begin(_ run: RunHeader) async throws(StoreError) -> OpenPass {
        try await rememberEndedRuns()
        try await discardUnendedLists()
        let doing = "recording the run \(run.runID)"
        let opened = try await write(doing) { db in try PassOpening(db: db, run: run).begin() }
        while try await write(doing, { db in try PassOpening.askAgain(opened, db) }) {}
        try await purgeEndedPasses()
        return try await read(doing) { db in try PassOpening.describe(opened, db) }
    }
}
