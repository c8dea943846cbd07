/// The notification types, with their subtypes, that the simulation sends.
///
/// Source: App Store Server Notifications, `notificationType` and `subtype`.
package enum NotificationEvent: UInt8, Hashable, Sendable, CaseIterable {
    case subscribedInitialBuy, subscribedResubscribe
    case didRenew, didRenewBillingRecovery
    case didChangeRenewalPrefUpgrade, didChangeRenewalPrefDowngrade, didChangeRenewalPref
    case didChangeRenewalStatusEnabled, didChangeRenewalStatusDisabled
    case offerRedeemed, offerRedeemedUpgrade, offerRedeemedDowngrade
    case didFailToRenewGracePeriod, didFailToRenew
    case gracePeriodExpired
    case expiredVoluntary, expiredBillingRetry, expiredPriceIncrease, expiredProductNotForSale
    case expired
    case priceIncreasePending, priceIncreaseAccepted
    case refund, refundDeclined, refundReversed, revoke, consumptionRequest
    case renewalExtended
    case oneTimeCharge
    case test
    // Raw values are part of notification UUIDs, so new cases come last.
    case renewalExtensionSummary, renewalExtensionFailure
    case externalPurchaseTokenCreated, externalPurchaseTokenReminder
    case externalPurchaseTokenUnreported
    case rescindConsent
    case quantityIncreased, quantityDecreased, refundSeats, seatsUnclaimed

    package var type: String { words.type }
    package var subtype: String? { words.subtype }

    /// For example `DID_FAIL_TO_RENEW/GRACE_PERIOD`.
    var name: String { words.type + (words.subtype.map { "/" + $0 } ?? "") }

    private var words: (type: String, subtype: String?) {
        switch self {
        case .subscribedInitialBuy: ("SUBSCRIBED", "INITIAL_BUY")
        case .subscribedResubscribe: ("SUBSCRIBED", "RESUBSCRIBE")
        case .didRenew: ("DID_RENEW", nil)
        case .didRenewBillingRecovery: ("DID_RENEW", "BILLING_RECOVERY")
        case .didChangeRenewalPrefUpgrade: ("DID_CHANGE_RENEWAL_PREF", "UPGRADE")
        case .didChangeRenewalPrefDowngrade: ("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE")
        case .didChangeRenewalPref: ("DID_CHANGE_RENEWAL_PREF", nil)
        case .didChangeRenewalStatusEnabled: ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED")
        case .didChangeRenewalStatusDisabled: ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED")
        case .offerRedeemed: ("OFFER_REDEEMED", nil)
        case .offerRedeemedUpgrade: ("OFFER_REDEEMED", "UPGRADE")
        case .offerRedeemedDowngrade: ("OFFER_REDEEMED", "DOWNGRADE")
        case .didFailToRenewGracePeriod: ("DID_FAIL_TO_RENEW", "GRACE_PERIOD")
        case .didFailToRenew: ("DID_FAIL_TO_RENEW", nil)
        case .gracePeriodExpired: ("GRACE_PERIOD_EXPIRED", nil)
        case .expiredVoluntary: ("EXPIRED", "VOLUNTARY")
        case .expiredBillingRetry: ("EXPIRED", "BILLING_RETRY")
        case .expiredPriceIncrease: ("EXPIRED", "PRICE_INCREASE")
        case .expiredProductNotForSale: ("EXPIRED", "PRODUCT_NOT_FOR_SALE")
        case .expired: ("EXPIRED", nil)
        case .priceIncreasePending: ("PRICE_INCREASE", "PENDING")
        case .priceIncreaseAccepted: ("PRICE_INCREASE", "ACCEPTED")
        case .refund: ("REFUND", nil)
        case .refundDeclined: ("REFUND_DECLINED", nil)
        case .refundReversed: ("REFUND_REVERSED", nil)
        case .revoke: ("REVOKE", nil)
        case .consumptionRequest: ("CONSUMPTION_REQUEST", nil)
        case .renewalExtended: ("RENEWAL_EXTENDED", nil)
        case .oneTimeCharge: ("ONE_TIME_CHARGE", nil)
        case .test: ("TEST", nil)
        case .renewalExtensionSummary: ("RENEWAL_EXTENSION", "SUMMARY")
        case .renewalExtensionFailure: ("RENEWAL_EXTENSION", "FAILURE")
        case .externalPurchaseTokenCreated: ("EXTERNAL_PURCHASE_TOKEN", "CREATED")
        case .externalPurchaseTokenReminder: ("EXTERNAL_PURCHASE_TOKEN", "ACTIVE_TOKEN_REMINDER")
        case .externalPurchaseTokenUnreported: ("EXTERNAL_PURCHASE_TOKEN", "UNREPORTED")
        case .rescindConsent: ("RESCIND_CONSENT", nil)
        case .refundSeats: ("REFUND", "SEATS")
        case .quantityIncreased: ("DID_CHANGE_RENEWAL_PREF", "INCREASE_QUANTITY")
        case .quantityDecreased: ("DID_CHANGE_RENEWAL_PREF", "DECREASE_QUANTITY")
        case .seatsUnclaimed: ("UNCLAIM_SEATS", nil)
        }
    }

    /// The notification that family members get when the purchaser gets this one; `nil` for what
    /// concerns the purchaser alone: offers, prices and requests for a refund.
    var familyEvent: NotificationEvent? {
        switch self {
        case .subscribedInitialBuy, .offerRedeemed, .priceIncreasePending, .priceIncreaseAccepted,
            .refundDeclined, .consumptionRequest, .oneTimeCharge, .test, .revoke,
            .renewalExtensionSummary, .renewalExtensionFailure, .externalPurchaseTokenCreated,
            .externalPurchaseTokenReminder, .externalPurchaseTokenUnreported, .rescindConsent,
            .refundSeats, .quantityIncreased, .quantityDecreased, .seatsUnclaimed:
            nil
        case .refund: .revoke
        case .offerRedeemedUpgrade: .didChangeRenewalPrefUpgrade
        case .offerRedeemedDowngrade: .didChangeRenewalPrefDowngrade
        default: self
        }
    }

    /// The types that the filter of notification history accepts, including those never sent here.
    static let knownTypes: Set<String> = Set(allCases.map(\.type)).union([
        "METADATA_UPDATE", "MIGRATION", "PRICE_CHANGE",
    ])

    /// Whether Apple documents this pair of type and subtype.
    static func exists(type: String, subtype: String?) -> Bool {
        guard let subtype else { return knownTypes.contains(type) }
        return allCases.contains { $0.type == type && $0.subtype == subtype }
    }
}
