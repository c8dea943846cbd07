import GRDB
package import Subscriptions

extension SQLiteStore {
    package func stage(
        _ batch: StagedBatch, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) {
        try await write("storing what was judged") { db in
            let run = try RunReference(run, in: pass, db)
            // A plan that is added to is another plan.
            try PlanReader(db: db).breakSeal(ofRun: run.sequence)
            try PassStaging(db: db, run: run).stage(batch)
        }
    }
}
