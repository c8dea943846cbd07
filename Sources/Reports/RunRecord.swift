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

    /// Visits the same entries in the same order; those that state a status come with the payloads
    /// that it follows from.
    func forEachEvidencedCorrection(_ body: (ReportedCorrection) throws -> Void) throws

    /// Planned corrections of the pass with what became of them, by subscription key.
    func forEachPlanned(_ body: (PlannedCorrection, CorrectionFate) throws -> Void) throws

    func forEachUndecided(_ body: (UndecidedRow) throws -> Void) throws

    func forEachNotFound(_ body: (NotFoundAccount) throws -> Void) throws

    /// Notifications read in this pass.
    func forEachNotification(_ body: (NotificationAudit) throws -> Void) throws

    /// Entitlements that changed since the report before, by bundle, environment, customer and name.
    func forEachEntitlementChange(_ body: (EntitlementChange) throws -> Void) throws

    /// Every signed payload that a finding or correction of the report names, once each, by digest;
    /// the tombstone of one that was erased.
    func forEachEvidence(_ body: (ReportedEvidence) throws -> Void) throws

    /// Runs of the same job and mode that judged rows and began before this one, oldest first.
    func forEachEarlierRun(since first: Timestamp, _ body: (EarlierRun) throws -> Void) throws
}
