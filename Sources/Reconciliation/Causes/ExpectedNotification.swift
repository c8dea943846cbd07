import Subscriptions

/// The notifications that report a change, by the kind of finding and Apple's value.
///
/// Source: App Store Server Notifications, `notificationType` and `subtype`, with the effect that
/// Apple documents for each. There are none for kinds that no notification could have prevented.
struct ExpectedNotification: Hashable {
    private var types: Set<String> = []
    /// Types that fit only with these subtypes; `""` stands for no subtype.
    private var narrow: [String: Set<String>] = [:]

    init(of finding: Finding) {
        switch finding.kind {
        case .accessMissing, .accessUnpaid, .revocationMissed, .refundReversalMissed, .graceMissed,
            .status:
            expectStatus(finding)
        case .expiry:
            expectPeriod()
            types.insert("RENEWAL_EXTENDED")
        case .product, .latestTransaction, .transactionMissing: expectPeriod()
        case .renewalPreference: expectPreference(finding)
        case .revocationDate:
            types = finding.appleValue == .null ? ["REFUND_REVERSED"] : ["REFUND", "REVOKE"]
        case .ownership: types = ["SUBSCRIBED", "REVOKE"]
        case .missingLocally: types = ["SUBSCRIBED", "OFFER_REDEEMED"]
        default: break
        }
    }

    /// Whether no notification could have prevented the finding.
    var isNone: Bool { types.isEmpty && narrow.isEmpty }

    func fits(_ notification: TracedNotification) -> Bool {
        types.contains(notification.notificationType)
            || narrow[notification.notificationType]?.contains(notification.subtype ?? "") ?? false
    }

    /// Whether a notification is about the same property, whatever its value.
    func concerns(_ notification: TracedNotification) -> Bool {
        types.contains(notification.notificationType)
            || narrow[notification.notificationType] != nil
    }

    /// Expects the notifications that begin a new period.
    private mutating func expectPeriod() {
        types = ["DID_RENEW", "SUBSCRIBED", "OFFER_REDEEMED"]
        narrow["DID_CHANGE_RENEWAL_PREF"] = ["UPGRADE"]
    }

    private mutating func expectStatus(_ finding: Finding) {
        guard finding.field == SubscriptionField.status.rawValue,
            case .integer(let apple) = finding.appleValue
        else {
            guard finding.kind == .graceMissed else { return }
            if finding.appleValue == .null {
                // It is over: the charge succeeded, or the period ended without it.
                types = ["GRACE_PERIOD_EXPIRED", "EXPIRED"]
                narrow["DID_RENEW"] = ["BILLING_RECOVERY"]
            } else {
                narrow["DID_FAIL_TO_RENEW"] = ["GRACE_PERIOD"]
            }
            return
        }
        let wasRevoked =
            finding.localValue == .integer(Int64(SubscriptionStatus.revoked.rawValue))
        switch SubscriptionStatus(rawValue: Int(apple)) {
        case .active:
            if wasRevoked {
                types = ["REFUND_REVERSED", "SUBSCRIBED"]
            } else {
                expectPeriod()
                types.insert("RENEWAL_EXTENDED")
            }
        case .expired: types = ["EXPIRED"]
        case .billingRetry:
            types = ["GRACE_PERIOD_EXPIRED"]
            narrow["DID_FAIL_TO_RENEW"] = [""]
        case .billingGracePeriod:
            if wasRevoked { types = ["REFUND_REVERSED"] }
            narrow["DID_FAIL_TO_RENEW"] = ["GRACE_PERIOD"]
        case .revoked: types = ["REFUND", "REVOKE"]
        default: break
        }
    }

    private mutating func expectPreference(_ finding: Finding) {
        guard finding.field == SubscriptionField.autoRenewStatus.rawValue else {
            types = ["DID_CHANGE_RENEWAL_PREF", "OFFER_REDEEMED", "DID_RENEW", "SUBSCRIBED"]
            return
        }
        if finding.appleValue == .integer(0) {
            // Apple turns renewal off by itself when a subscription ends.
            types = ["EXPIRED", "REFUND", "REVOKE"]
            narrow["DID_CHANGE_RENEWAL_STATUS"] = ["AUTO_RENEW_DISABLED"]
        } else {
            types = ["SUBSCRIBED"]
            narrow["DID_CHANGE_RENEWAL_STATUS"] = ["AUTO_RENEW_ENABLED"]
        }
    }
}
