import GRDB
package import Subscriptions

extension SQLiteStore {
    package func begin(_ run: RunHeader) async throws(StoreError) -> OpenPass {
        let pass = try await write("recording the run \(run.runID)") { db in
            try PassOpening(db: db, run: run).begin()
        }
        try await purgeEndedPasses()
        return pass
    }
}
