package import Subscriptions

/// The port to a concluded run: what its report is written from.
///
/// Rows are streamed in report order, never held at once.
///
/// The methods block; call them away from Swift's cooperative threads. `body`'s errors pass through
/// unchanged.
package protocol RunRecord: Sendable {
    func summary() throws -> RunSummary

    /// Sorted by app, environment, original transaction id, kind, field.
    func forEachFinding(_ body: (ReportedFinding) throws -> Void) throws

    /// Ledger entries that this run reports: its own and those that a killed run left unreported.
    func forEachCorrection(_ body: (LedgerEntry) throws -> Void) throws

    /// Those of the same entries that are needed, in the same order; one that states a status comes
    /// with the payloads that it follows from.
    ///
    /// Plain new periods state no status and replace no value; they are only counted.
    ///
    /// - Returns: How many plain new periods there are.
    func forEachEvidencedCorrection(
        where isNeeded: (LedgerEntry) -> Bool, _ body: (ReportedCorrection) throws -> Void
    ) throws -> Int

    /// Planned corrections of the checkpoint with what became of them, by subscription key.
    func forEachPlanned(_ body: (PlannedCorrection, CorrectionFate) throws -> Void) throws

    func forEachUndecided(_ body: (UndecidedRow) throws -> Void) throws

    func forEachNotFound(_ body: (NotFoundAccount) throws -> Void) throws

    /// Notifications read in this checkpoint.
    func forEachNotification(_ body: (NotificationAudit) throws -> Void) throws

    /// Entitlements that changed since the report before, by bundle, environment, customer and
    /// name.
    func forEachEntitlementChange(_ body: (EntitlementChange) throws -> Void) throws

    /// Purchases whose owner is not known, by bundle, environment and original transaction id; none
    /// of a run that did not look for them.
    func forEachUnowned(_ body: (UnownedPurchase) throws -> Void) throws

    /// Every signed payload that a finding or correction of the report names, once each, by digest;
    /// the tombstone of one that was erased.
    func forEachEvidence(_ body: (ReportedEvidence) throws -> Void) throws

    /// Runs of the same job and mode that checked rows and began before this one, oldest first.
    func forEachEarlierRun(since first: Timestamp, _ body: (EarlierRun) throws -> Void) throws
}
