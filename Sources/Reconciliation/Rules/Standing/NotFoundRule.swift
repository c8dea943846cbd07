import Subscriptions

extension AllRules {
    /// `not_found`: Apple answers TransactionIdNotFound (4040010); suspect, then confirmed.
    ///
    /// It also happens to ids that Apple knew before, so it never changes a row, and one run proves
    /// nothing. It is confirmed after several distinct UTC days, and only when Get Transaction Info,
    /// which is known to find ids that other endpoints do not, agrees. `apple_value` is `suspect` or
    /// `confirmed`, `local_value` our status.
    static let notFound = StandingRule("NotFoundRule") { scoped, context in
        let row = scoped.row
        guard context.isAsked(row), context.belongsToApp(row),
            context.item.statuses == .transactionNotFound
        else { return nil }
        if context.info != nil {
            return Conclusion(verdict: .undecided(.noSubscriptionInAnswer), absence: .present)
        }
        let isConfirmed = context.policy.wouldConfirmAbsence(of: scoped)
        if isConfirmed, !isDefinite(context.item.transactionInfo) {
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

    /// Whether Get Transaction Info came to an answer that leaves the absence standing.
    private static func isDefinite(_ info: Lookup<SignedTransaction>?) -> Bool {
        switch info {
        case .transactionNotFound, .accountNotFound, .invalidID: true
        default: false
        }
    }
}

extension Policy {
    /// Whether one more day without a row is enough to call its absence confirmed.
    func wouldConfirmAbsence(of scoped: ScopedRow) -> Bool {
        AbsenceRecord.after(scoped.absence, day: now.utcDay).distinctDays >= notFoundConfirmations
    }
}
