import Subscriptions

extension CaseContext {
    /// What of this case's answers about a row must not be believed; `nil` when nothing.
    ///
    /// The entry under the row's own id. For the asked row also the whole answer, the answer of
    /// Get Transaction Info, and an entry without a usable id where no entry has the asked one.
    func rejection(of row: LocalSubscription) -> RejectedStatement? {
        let id = row.key.originalTransactionID
        if let rejected = answer?.rejected[id] { return rejected }
        guard isAsked(row) || item.asked == nil else { return nil }
        if case .unverified(let rejected) = item.statuses { return rejected }
        if let answer, !answer.contains(id), let first = answer.unattributed.first { return first }
        if !answerContainsAsked, case .unverified(let rejected) = item.transactionInfo {
            return rejected
        }
        return nil
    }

    /// A rejection on a verified signature: the payload is genuine, and made for another app or
    /// environment.
    ///
    /// The unsigned envelope of an answer says the same without proving it, and an entry without a
    /// usable id may be about another subscription.
    func signedRejection(
        of row: LocalSubscription, for reason: VerificationFailure.Reason
    ) -> RejectedStatement? {
        guard let rejected = rejection(of: row), rejected.failure.reason == reason,
            rejected.payload != nil, answer?.unattributed.contains(rejected) != true
        else { return nil }
        return rejected
    }
}

extension LocalSubscription {
    /// Whether the row gives access.
    var isEntitling: Bool {
        status.map { SubscriptionStatus(rawValue: $0).isEntitling } ?? false
    }
}
