/// The values of Apple's enumerations that this version knows.
///
/// Sources: App Store Server API 1.23 and App Store Server Notifications 2.23. A value that is not
/// here is kept and counted (`UnknownValue`); Apple adds some every year.
enum KnownValues {
    static let environments = ["Production", "Sandbox"]
    static let productTypes = [
        "Auto-Renewable Subscription", "Non-Consumable", "Consumable", "Non-Renewing Subscription",
    ]
    static let transactionReasons = ["PURCHASE", "RENEWAL"]
    static let offerDiscountTypes = ["FREE_TRIAL", "PAY_AS_YOU_GO", "PAY_UP_FRONT", "ONE_TIME"]
    static let revocationTypes = [
        "REFUND_FULL", "REFUND_PRORATED", "FAMILY_REVOKE", "ASSIGNMENT_REVOKE",
    ]
    static let billingPlanTypes = ["BILLED_UPFRONT", "MONTHLY"]
    static let platforms = ["iOS", "macOS", "tvOS", "visionOS"]
    static let consumptionRequestReasons = [
        "UNINTENDED_PURCHASE", "FULFILLMENT_ISSUE", "UNSATISFIED_WITH_PURCHASE", "LEGAL", "OTHER",
    ]
    static let sendAttemptResults = [
        "SUCCESS", "TIMED_OUT", "TLS_ISSUE", "SSL_ISSUE", "CIRCULAR_REDIRECT", "NO_RESPONSE",
        "SOCKET_ISSUE", "UNSUPPORTED_CHARSET", "INVALID_RESPONSE", "PREMATURE_CLOSE",
        "UNSUCCESSFUL_HTTP_RESPONSE_CODE", "OTHER",
    ]
    static let notificationTypes = [
        "SUBSCRIBED", "DID_RENEW", "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_STATUS",
        "OFFER_REDEEMED", "DID_FAIL_TO_RENEW", "GRACE_PERIOD_EXPIRED", "EXPIRED", "PRICE_INCREASE",
        "REFUND", "REFUND_DECLINED", "REFUND_REVERSED", "REVOKE", "CONSUMPTION_REQUEST",
        "RENEWAL_EXTENDED", "RENEWAL_EXTENSION", "ONE_TIME_CHARGE", "TEST",
        "EXTERNAL_PURCHASE_TOKEN", "RESCIND_CONSENT", "METADATA_UPDATE", "MIGRATION", "MIGRATE",
        "PRICE_CHANGE", "UNCLAIM_SEATS",
    ]
    static let subtypes = [
        "INITIAL_BUY", "RESUBSCRIBE", "BILLING_RECOVERY", "UPGRADE", "DOWNGRADE",
        "AUTO_RENEW_ENABLED", "AUTO_RENEW_DISABLED", "GRACE_PERIOD", "VOLUNTARY", "BILLING_RETRY",
        "PRICE_INCREASE", "PRODUCT_NOT_FOR_SALE", "PENDING", "ACCEPTED", "SUMMARY", "FAILURE",
        "UNREPORTED", "CREATED", "ACTIVE_TOKEN_REMINDER",
    ]
    static let offerTypes = 1...4
    static let revocationReasons = 0...1
    static let autoRenewStatuses = 0...1
    static let expirationIntents = 1...5
    static let priceIncreaseStatuses = 0...1
    static let statuses = 1...5
}
