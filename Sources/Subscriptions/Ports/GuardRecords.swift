/// The part of the database's port that the guards work with.
package protocol GuardRecords: Sendable {
    /// The plan in numbers, for the guards.
    func planTotals(of pass: OpenPass) async throws(StoreError) -> PlanTotals

    /// Folds every correction of the pass's plan, written ones included, into one value; they are
    /// read in the order of their subscriptions and never held at once.
    func reducePlan<Result: Sendable>(
        of pass: OpenPass, into initial: Result,
        _ add: @escaping @Sendable (inout Result, PlannedCorrection) -> Void
    ) async throws(StoreError) -> Result

    /// What was lifted for this pass by runs that were killed after their plan was let through.
    func liftsOfKilledRuns(in pass: OpenPass) async throws(StoreError) -> [GuardLift]

    /// Records what this run lifts, before anything is written for it.
    func recordLifts(
        _ lifts: [GuardLift], in pass: OpenPass, run: RunHeader
    ) async throws(StoreError)

    /// How many subscriptions of the pass were chosen for a canary, by this run or a killed one.
    func canarySize(of pass: OpenPass) async throws(StoreError) -> Int

    /// Chooses up to `count` more subscriptions with planned corrections, taking the kinds of
    /// corrections in turn; says how many there were.
    func extendCanary(
        by count: Int, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) -> Int

    /// What `applyPlanned` does, for the chosen subscriptions alone.
    func applyCanary(
        limit: Int, in pass: OpenPass, run: RunHeader, at now: Timestamp
    ) async throws(StoreError) -> Int

    /// The chosen subscriptions whose corrections were all written, by key.
    func writtenCanary(of pass: OpenPass) async throws(StoreError) -> [CanaryRow]
}
