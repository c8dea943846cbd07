import Subscriptions

/// What Apple's renewal info says besides the transaction; copied into every notification, since a
/// notification shows the state as sent.
struct RenewalState: Sendable {
    var renewalDate: Timestamp
    @Compact var gracePeriodExpiresDate: Timestamp?
    /// The customer's will; a commitment's payments go on all the same until its end.
    var willRenew: Bool = true
    var isInBillingRetry: Bool = false
    /// Product of the next period.
    var nextProduct: UInt16
    /// Offer of the next period; index into the catalogue's offers.
    var nextOffer: UInt8 = 0
    /// 1 cancelled, 2 billing error, 3 no consent, 4 not available, 5 other; 0 while none applies.
    var expirationIntent: UInt8 = 0
    var priceIncrease = PriceIncrease.none
    /// Percent on top of the ordinary price, once an increase applies.
    var priceIncreasePercent: UInt8 = 0

    /// Apple's `autoRenewStatus`: whether the next billing period will renew.
    func renewsNextPeriod(after transaction: StoredTransaction) -> Bool {
        willRenew || transaction.owesPayments
    }

    /// An increase belongs to the product that it was announced for.
    mutating func dropPriceIncrease() {
        priceIncrease = .none
        priceIncreasePercent = 0
    }

    enum PriceIncrease: UInt8, Sendable {
        case none, pending, accepted
    }
}
