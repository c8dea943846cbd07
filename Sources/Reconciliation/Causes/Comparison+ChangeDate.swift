import Subscriptions

extension Comparison {
    /// When the change happened at Apple that a finding of this kind says our row lacks.
    ///
    /// Taken from signed dates. `nil` where none tells for certain: renewal info has no date of a
    /// change, and a charge that succeeds within the grace period keeps the old billing dates.
    func changeDate(of kind: FindingKind) -> Timestamp? {
        let transaction = stated.transaction
        switch kind {
        case .missingLocally: return transaction.originalPurchaseDate ?? transaction.purchaseDate
        case .revocationMissed: return transaction.revocationDate
        case .graceMissed where ourStatus == .active: return transaction.expiresDate
        case .accessUnpaid where ourStatus == .active: return transaction.expiresDate
        case .status where stated.status == .revoked: return transaction.revocationDate
        case .accessMissing, .expiry, .product, .latestTransaction: return periodBegan
        default: return nil
        }
    }

    /// When the period began that Apple states and our row does not know.
    private var periodBegan: Timestamp? {
        guard let began = stated.transaction.purchaseDate, !isSamePeriod else { return nil }
        if let ours = row.signedDate, began > ours { return began }
        let mayBeRecovery = ourStatus == .billingGracePeriod || ourStatus == .billingRetry
        return mayBeRecovery ? nil : began
    }
}
