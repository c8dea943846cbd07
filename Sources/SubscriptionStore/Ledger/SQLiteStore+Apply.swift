import GRDB
package import Subscriptions

extension SQLiteStore {
    package func applyPlanned(
        limit: Int, in pass: OpenPass, run: RunHeader, at now: Timestamp
    ) async throws(StoreError) -> Int {
        try await apply(.wholePlan, limit: limit, in: pass, run: run, at: now)
    }

    func apply(
        _ part: PlanApplication.Part, limit: Int, in pass: OpenPass, run: RunHeader,
        at now: Timestamp
    ) async throws(StoreError) -> Int {
        guard run.mode == .apply else {
            throw .inconsistent(
                "The run \(run.runID) is a check and must not write; nothing was written.")
        }
        let doing = "applying corrections"
        let plan = try await sealPlan(of: pass, run: run).sha256
        for _ in 0...limit {
            let attempt = try await writeOrUndo(doing) { [naming] db in
                try PlanApplication(
                    db: db, run: RunReference(run, in: pass, db), header: run, plan: plan,
                    now: now, naming: naming, part: part
                ).apply(limit: limit)
            }
            switch attempt {
            case .success(let takenUp): return takenUp
            case .failure(let undone):
                try await write(doing) { [naming] db in
                    try PlanApplication(
                        db: db, run: RunReference(run, in: pass, db), header: run, plan: plan,
                        now: now, naming: naming
                    ).settle(undone.item, .rejected)
                }
            }
        }
        throw .inconsistent("Every correction of a batch rolled back the others.")
    }
}
