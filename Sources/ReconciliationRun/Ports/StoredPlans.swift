package import Subscriptions

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
