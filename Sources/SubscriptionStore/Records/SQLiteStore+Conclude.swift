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
        for step in chunks.steps { try await inChunks(doing, from: StoredKey.first, step.run) }
        let heldBack = HeldBackCauses(run: reference)
        if let first = try await read(doing, heldBack.first) {
            try await inChunks(doing, from: first, heldBack.write)
        }
        let findings = RunFindings(run: reference, started: run.started)
        if let first = try await read(doing, findings.first) {
            try await inChunks(doing, from: first, findings.report)
        }
        let tally = try await read(doing) { db in try ConclusionTally(of: reference, db) }
        try await write(doing) { db in
            try RunConclusionWriter(
                db: db, run: reference, header: run, conclusion: conclusion, tally: tally
            ).write()
        }
        // The run has ended: what cannot be done now, the next one does.
        do {
            try await rememberEndedRuns()
            if conclusion.closesPass { try await purgeEndedPasses() }
        } catch {}
    }
}
