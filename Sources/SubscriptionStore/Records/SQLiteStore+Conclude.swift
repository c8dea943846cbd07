import GRDB
package import Subscriptions

extension SQLiteStore {
    package func conclude(
        _ conclusion: RunConclusion, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) {
        let doing = "concluding the run \(run.runID)"
        try await sealPlan(of: pass, run: run)
        let reference = try await read(doing) { db in try RunReference(run, in: pass, db) }
        let chunks = ChunkedConclusion(run: reference, header: run, conclusion: conclusion)
        for step in chunks.steps {
            var position = StoredKey.first
            while let start = position {
                position = try await write(doing) { db in try step.run(start, db) }
            }
        }
        let tally = try await read(doing) { db in try ConclusionTally(of: reference, db) }
        try await write(doing) { db in
            try RunConclusionWriter(
                db: db, run: reference, header: run, conclusion: conclusion, tally: tally
            ).write()
        }
        // The run has ended: what cannot be thrown away now, the next one throws away.
        if conclusion.closesPass { try? await purgeEndedPasses() }
    }
}
