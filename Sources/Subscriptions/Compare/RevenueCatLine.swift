/// The columns of RevenueCat's export of transactions that are compared.
package enum RevenueCatColumn: String, NamedColumn {
    case customerID = "rc_original_app_user_id"
    case productID = "product_identifier"
    case startTime = "start_time"
    case endTime = "end_time"
    case gracePeriodEndTime = "grace_period_end_time"
    case effectiveEndTime = "effective_end_time"
    case store
    case isAutoRenewable = "is_auto_renewable"
    case isSandbox = "is_sandbox"
    case transactionID = "store_transaction_id"
    case originalTransactionID = "original_store_transaction_id"
    case refundedAt = "refunded_at"
    case unsubscribeDetectedAt = "unsubscribe_detected_at"
    case billingIssuesDetectedAt = "billing_issues_detected_at"
    case currency = "purchased_currency"
    case price = "purchase_price_in_purchased_currency"
    case entitlements = "entitlement_identifiers"
    case ownership = "ownership_type"
    case updatedAt = "updated_at"

    /// The columns without which a line cannot be compared at all.
    package static let required: Set<RevenueCatColumn> = [
        .store, .transactionID, .originalTransactionID, .productID, .startTime, .endTime,
        .refundedAt,
    ]

    /// Columns of the published export, versions 1 to 7, that are not compared.
    package static let notCompared: Set<String> = [
        "rc_last_seen_app_user_id_alias", "country", "country_source", "product_display_name",
        "product_duration", "is_trial_period", "is_in_intro_offer_period", "price_in_usd",
        "purchase_price_in_usd", "takehome_percentage", "tax_percentage", "commission_percentage",
        "price_in_purchased_currency", "renewal_number", "is_trial_conversion",
        "presented_offering", "reserved_subscriber_attributes", "custom_subscriber_attributes",
        "platform", "experiment_id", "experiment_variant", "offer", "offer_type",
        "first_seen_time", "auto_resume_time",
    ]
}

/// One line of RevenueCat's export: its view of one transaction of the App Store.
package struct RevenueCatLine: Hashable, Sendable {
    package var originalTransactionID: String
    package var transactionID: String
    package var customerID: String?
    package var productID: String?
    package var startTime: Timestamp?
    package var endTime: Timestamp?
    package var gracePeriodEndTime: Timestamp?
    package var effectiveEndTime: Timestamp?
    package var isAutoRenewable: Bool?
    package var isSandbox: Bool?
    /// When RevenueCat detected a refund.
    package var refundedAt: Timestamp?
    package var unsubscribeDetectedAt: Timestamp?
    package var billingIssuesDetectedAt: Timestamp?
    package var currency: String?
    /// Milliunits of `currency`.
    package var price: Int64?
    /// Sorted, separated by commas.
    package var entitlements: String?
    package var ownership: String?
    package var updatedAt: Timestamp?

    package init(originalTransactionID: String, transactionID: String) {
        self.originalTransactionID = originalTransactionID
        self.transactionID = transactionID
    }
}
