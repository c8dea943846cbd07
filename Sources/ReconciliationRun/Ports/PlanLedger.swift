package import Subscriptions

/// The port to the plan of a pass and to the ledger of what is written of it.
///
/// A row's change, its ledger entry and its event are one transaction, so the company's rows are
/// written through this port and not through `CompanyTable`: the ledger stands beside the rows.
package protocol PlanLedger: Sendable {
    /// Fixes what the pass plans and gives it its identity; once for each run, unless something is
    /// staged afterwards.
    ///
    /// `progress` takes how many corrections are read, and of how many.
    @discardableResult
    func sealPlan(
        of pass: OpenPass, run: RunHeader,
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void
    ) async throws(StoreError) -> PlanSeal

    /// How many planned corrections of the pass were not tried yet.
    func correctionsLeft(of pass: OpenPass) async throws(StoreError) -> Int

    /// The plan in numbers, for the guards.
    func planTotals(of pass: OpenPass) async throws(StoreError) -> PlanTotals

    /// What the run that made a plan looked at, for the guards; `changes` is 0.
    func planTotals(ofPlan sha256: String) async throws(StoreError) -> PlanTotals

    /// Folds every correction of the pass's plan, written ones included, into one value; they are
    /// read in the order of their subscriptions and never held at once. Each comes with the reason for
    /// which its row was asked about; `nil` where it was no question of this pass.
    func reducePlan<Result: Sendable>(
        of pass: OpenPass, into initial: Result,
        _ add: @escaping @Sendable (inout Result, PlannedCorrection, QuestionReason?) -> Void
    ) async throws(StoreError) -> Result

    /// What was lifted for this pass by runs that were killed after their plan was let through.
    func liftsOfKilledRuns(in pass: OpenPass) async throws(StoreError) -> [GuardLift]

    /// Records what this run lifts, before anything is written for it.
    func recordLifts(
        _ lifts: [GuardLift], in pass: OpenPass, run: RunHeader
    ) async throws(StoreError)

    /// Applies up to `limit` planned corrections of the pass, oldest key first, each with its
    /// ledger entry in the same transaction, by compare-and-set; says how many were taken up
    /// (0 when none is left). A row that moved becomes undecided (`changed_during_run`).
    func applyPlanned(
        limit: Int, in pass: OpenPass, run: RunHeader, at now: Timestamp
    ) async throws(StoreError) -> Int
}

/// The port to what earlier runs planned and wrote, for a run that works that off or takes it back.
package protocol StoredPlans: Sendable {
    /// Takes an earlier run's plan up into the pass, with the findings that it mends; what was
    /// written under this plan before counts as applied.
    func stagePlan(_ sha256: String, in pass: OpenPass, run: RunHeader) async throws(StoreError)

    /// Plans the inverse of an earlier run's corrections; what is taken back already is left out,
    /// what cannot be is staged as stale.
    func stageUndo(
        ofRun runID: String, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) -> UndoCounts

    /// The corrections of the pass that were tried and not written.
    func unwritten(of pass: OpenPass) async throws(StoreError) -> UnwrittenCorrections
}

/// The port to the few subscriptions of a plan that are corrected ahead of the others.
package protocol CanaryBook: Sendable {
    /// How many subscriptions of the pass were chosen for a canary, by this run or a killed one.
    func canarySize(of pass: OpenPass) async throws(StoreError) -> Int

    /// Chooses up to `count` more subscriptions with planned corrections, taking the kinds of
    /// corrections in turn; says how many there were.
    func extendCanary(
        by count: Int, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) -> Int

    /// What `PlanLedger.applyPlanned` does, for the chosen subscriptions alone.
    func applyCanary(
        limit: Int, in pass: OpenPass, run: RunHeader, at now: Timestamp
    ) async throws(StoreError) -> Int

    /// The chosen subscriptions whose corrections were all written, by key.
    func writtenCanary(of pass: OpenPass) async throws(StoreError) -> [CanaryRow]
}

extension PlanLedger {
    /// Seals the plan where nobody watches.
    @discardableResult
    package func sealPlan(
        of pass: OpenPass, run: RunHeader
    ) async throws(StoreError) -> PlanSeal {
        try await sealPlan(of: pass, run: run, progress: { _, _ in })
    }
}
