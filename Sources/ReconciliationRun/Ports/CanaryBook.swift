package import Subscriptions

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
