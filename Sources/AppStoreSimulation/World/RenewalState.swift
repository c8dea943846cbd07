import Subscriptions

/// What Apple's renewal info says besides the transaction; copied into every notification, since a
/// notification shows the state as sent.
struct RenewalState: Sendable {
    var renewalDate: Timestamp
    var gracePeriodExpiresDate: Timestamp?
    var willRenew: Bool = true
    var isInBillingRetry: Bool = false
    /// Product of the next period.
    var nextProduct: UInt16
    /// Offer of the next period; index into `Catalogue.offers`.
    var nextOffer: UInt8 = 0
    /// 1 cancelled, 2 billing error, 3 no consent, 4 not available, 5 other; 0 while none applies.
    var expirationIntent: UInt8 = 0
    var priceIncrease = PriceIncrease.none
    /// Percent on top of the ordinary price, once an increase applies.
    var priceIncreasePercent: UInt8 = 0

    enum PriceIncrease: UInt8, Sendable {
        case none, pending, accepted
    }
}
