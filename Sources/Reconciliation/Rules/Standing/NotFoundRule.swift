import Subscriptions

/// `not_found`: Apple answers TransactionIdNotFound (4040010); suspect, then confirmed.
///
/// It also happens to ids that Apple knew before, so it never changes a row, and one run proves
/// nothing. It is confirmed after several distinct UTC days, and only when Get Transaction Info,
/// which is known to find ids that other endpoints do not, agrees. `apple_value` is `suspect` or
/// `confirmed`, `local_value` our status.
struct NotFoundRule: StandingRule {
    func conclusion(about scoped: ScopedRow, in context: CaseContext) -> Conclusion? {
        let row = scoped.row
        guard context.isAsked(row), context.belongsToApp(row),
            context.refusal == .transactionNotFound
        else { return nil }
        if context.info != nil {
            return Conclusion(verdict: .undecided(.noSubscriptionInAnswer), absence: .present)
        }
        let isConfirmed = Self.wouldConfirm(scoped, policy: context.policy)
        if isConfirmed, !Self.isDefinite(context.item.transactionInfo) {
            return .undecided(context.item.transactionInfo?.undecidedReason ?? .unavailable)
        }
        var finding = Finding(kind: .notFound, severity: .high, row: row)
        finding.localValue = row.value(of: .status)
        finding.appleValue = .text(isConfirmed ? "confirmed" : "suspect")
        finding.direction = row.isEntitling ? .companyLoses : .neutral
        finding.cause = "transaction unknown to Apple"
        return .discrepancy(
            Difference(finding, payload: nil), absence: .absent(day: context.policy.now.utcDay))
    }

    /// Whether one more day without it is enough to call it confirmed.
    static func wouldConfirm(_ scoped: ScopedRow, policy: Policy) -> Bool {
        AbsenceRecord.after(scoped.absence, day: policy.now.utcDay).distinctDays
            >= policy.notFoundConfirmations
    }

    /// Whether Get Transaction Info came to an answer that leaves the absence standing.
    private static func isDefinite(_ info: Lookup<SignedTransaction>?) -> Bool {
        switch info {
        case .transactionNotFound, .accountNotFound, .invalidID: true
        default: false
        }
    }
}
