import Subscriptions

/// The contents of Apple's renewal info that are not in the transaction, in 18 bytes.
///
/// Every notification has a copy, because a notification shows the state at the time of sending.
struct RenewalState: Sendable {
    @PackedTimestamp var renewalDate: Timestamp
    @PackedOptionalTimestamp var gracePeriodExpiresDate: Timestamp? = nil
    /// Product of the next period.
    var nextProduct: UInt16
    /// Offer of the next period; index into the catalogue's offers.
    var nextOffer: UInt8 = 0
    /// 1 cancelled, 2 billing error, 3 no consent, 4 not available, 5 other; 0 while none applies.
    var expirationIntent: UInt8 = 0
    /// Price increase in percent of the ordinary price, once it applies.
    var priceIncreasePercent: UInt8 = 0
    /// The lowest bit holds `willRenew`, the next `isInBillingRetry`, two more `priceIncrease`.
    private var flags: UInt8 = 1

    init(renewalDate: Timestamp, nextProduct: UInt16) {
        self.renewalDate = renewalDate
        self.nextProduct = nextProduct
    }

    /// Whether the customer has auto-renewal on; a commitment's payments continue even without it.
    var willRenew: Bool {
        get { flags & 1 != 0 }
        set { flags = flags & ~1 | (newValue ? 1 : 0) }
    }

    var isInBillingRetry: Bool {
        get { flags & 2 != 0 }
        set { flags = flags & ~2 | (newValue ? 2 : 0) }
    }

    var priceIncrease: PriceIncrease {
        get { PriceIncrease(rawValue: flags >> 2 & 3) ?? .none }
        set { flags = flags & ~12 | newValue.rawValue << 2 }
    }

    /// Apple's `autoRenewStatus`: whether the next billing period will renew.
    func renewsNextPeriod(after transaction: StoredTransaction) -> Bool {
        // Once Apple gave up charging, a commitment renews no more.
        let isGivenUp = expirationIntent == 2 && !isInBillingRetry
        return willRenew || (transaction.owesPayments && !isGivenUp)
    }

    /// Drops a price increase, which applies only to the product that it was announced for.
    mutating func dropPriceIncrease() {
        priceIncrease = .none
        priceIncreasePercent = 0
    }

    enum PriceIncrease: UInt8, Sendable {
        case none, pending, accepted
    }
}
