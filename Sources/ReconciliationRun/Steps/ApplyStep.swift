import Logging
import Reconciliation
import Subscriptions

/// The one stage that writes to subscription rows: looks at the whole plan first, then applies it.
///
/// Whoever applies a plan comes through here, whether the plan was made a moment ago or last week.
struct ApplyStep {
    let context: RunContext

    /// Applies the pass's plan, unless the job only checks or a guard objects.
    ///
    /// - Returns: What the guards object to, in sentences; then nothing was written.
    func run() async throws(RunInterruption) -> [String] {
        let seal = try await context.storing { () async throws(StoreError) in
            try await context.store.sealPlan(of: context.pass, run: context.header)
        }
        let plan = try await context.storing(guardedTotals)
        let breaches = isGuarded ? context.job.guards.breaches(by: plan) : []
        context.logger.info(
            "plan",
            metadata: [
                "changes": "\(plan.changes)", "breaches": "\(breaches.count)",
                "plan": "\(seal.sha256)",
                "run_id": "\(context.header.runID)",
            ])
        guard breaches.isEmpty, context.job.mode == .apply else { return breaches }
        try await applyAll()
        return []
    }

    /// Who takes a run back has read what that changes: nothing of it is Apple's word.
    private var isGuarded: Bool {
        if case .undo = context.job.planSource { false } else { true }
    }

    /// The plan against what was looked at when it was made.
    private func guardedTotals() async throws(StoreError) -> PlanTotals {
        var plan = try await context.store.planTotals(of: context.pass)
        guard case .plan(let digest) = context.job.planSource else { return plan }
        let origin = try await context.store.planTotals(ofPlan: digest)
        plan.totals = origin.totals
        plan.notFound = origin.notFound
        plan.verificationFailures = origin.verificationFailures
        return plan
    }

    private func applyAll() async throws(RunInterruption) {
        var applied = 0
        while true {
            if let signal = context.stop.signal { throw RunInterruption(end: .signal(signal)) }
            let now = context.clock.now()
            let count = try await context.storing { () async throws(StoreError) in
                try await context.store.applyPlanned(
                    limit: RunLimits.correctionsPerTransaction, in: context.pass,
                    run: context.header, at: now)
            }
            guard count > 0 else { return }
            applied += count
            context.progress(RunProgress(stage: .apply, done: applied))
        }
    }
}
