/// A kind of what happens to subscriptions, as the business counts it.
///
/// The order is that of reports.
package enum BusinessEventKind: String, Hashable, Sendable, CaseIterable {
    case purchase
    /// A first purchase whose first period is free.
    case trial
    case resubscription
    case renewal
    /// A charge failed: Apple tries again, in a grace period or without one.
    case billingRetry = "billing_retry"
    /// A later charge succeeded.
    case billingRecovery = "billing_recovery"
    case cancellationScheduled = "cancellation_scheduled"
    case cancellationWithdrawn = "cancellation_withdrawn"
    case expiry
    case refund
    case refundReversal = "refund_reversal"
}

/// What one notification of Apple's reports to the business: one event of one product.
package struct BusinessEvent: Hashable, Sendable {
    package var kind: BusinessEventKind
    /// As Apple signed it; empty where it names none.
    package var productID: String

    package init(kind: BusinessEventKind, productID: String) {
        self.kind = kind
        self.productID = productID
    }

    /// Reads the event out of a verified notification and the signed parts inside.
    ///
    /// `nil` for what is no such event, and for subscriptions that nobody pays for: members of a
    /// family, and assigned seats, have notifications of their own beside the purchaser's.
    ///
    /// - Parameters:
    ///   - type: As Apple spells it.
    ///   - subtype: The same.
    ///   - transaction: The signed transaction inside, if there is one.
    ///   - renewal: The signed renewal info inside, if there is one.
    package init?(
        type: String, subtype: String?, transaction: SignedTransaction?, renewal: SignedRenewal?
    ) {
        guard transaction != nil || renewal != nil,
            transaction?.inAppOwnershipType ?? "PURCHASED" == "PURCHASED",
            let kind = Self.kind(type, subtype, isFree: transaction?.isFreeTrial ?? false)
        else { return nil }
        self.kind = kind
        productID = transaction?.productID ?? renewal?.productID ?? ""
    }

    /// Source: App Store Server Notifications V2, `notificationType` and `subtype`.
    private static func kind(
        _ type: String, _ subtype: String?, isFree: Bool
    ) -> BusinessEventKind? {
        switch (type, subtype) {
        case ("SUBSCRIBED", "RESUBSCRIBE"): .resubscription
        case ("SUBSCRIBED", _): isFree ? .trial : .purchase
        case ("DID_RENEW", "BILLING_RECOVERY"): .billingRecovery
        case ("DID_RENEW", _): .renewal
        case ("DID_FAIL_TO_RENEW", _): .billingRetry
        case ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED"): .cancellationScheduled
        case ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED"): .cancellationWithdrawn
        case ("EXPIRED", _): .expiry
        case ("REFUND", _): .refund
        case ("REFUND_REVERSED", _): .refundReversal
        default: nil
        }
    }
}

extension SignedTransaction {
    /// Whether Apple states that the period costs nothing.
    fileprivate var isFreeTrial: Bool { offerDiscountType == "FREE_TRIAL" }
}
