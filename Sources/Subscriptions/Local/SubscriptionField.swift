/// The columns of a local subscription row, in the order of import and export.
package enum SubscriptionField: String, Hashable, Sendable, CaseIterable {
    case originalTransactionID = "original_transaction_id"
    case environment
    case bundleID = "bundle_id"
    case customerID = "customer_id"
    case appAccountToken = "app_account_token"
    case productID = "product_id"
    case status
    case expiresDate = "expires_date"
    case gracePeriodExpiresDate = "grace_period_expires_date"
    case autoRenewStatus = "auto_renew_status"
    case autoRenewProductID = "auto_renew_product_id"
    case revocationDate = "revocation_date"
    case inAppOwnershipType = "in_app_ownership_type"
    case latestTransactionID = "latest_transaction_id"
    case webOrderLineItemID = "web_order_line_item_id"
    case signedDate = "signed_date"

    /// What a value of this column is.
    package var form: FieldForm {
        switch self {
        case .status, .autoRenewStatus: .integer
        case .expiresDate, .gracePeriodExpiresDate, .revocationDate, .signedDate: .time
        default: .text
        }
    }
}

/// The columns of a local transaction (period) row, in the order of import and export.
package enum TransactionField: String, Hashable, Sendable, CaseIterable {
    case transactionID = "transaction_id"
    case originalTransactionID = "original_transaction_id"
    case environment
    case bundleID = "bundle_id"
    case productID = "product_id"
    case type
    case purchaseDate = "purchase_date"
    case expiresDate = "expires_date"
    case revocationDate = "revocation_date"
    case revocationReason = "revocation_reason"
    case webOrderLineItemID = "web_order_line_item_id"
    case inAppOwnershipType = "in_app_ownership_type"
    case isUpgraded = "is_upgraded"
    case offerType = "offer_type"
    case price
    case currency
    case signedDate = "signed_date"

    /// What a value of this column is; `is_upgraded` is 0 or 1.
    package var form: FieldForm {
        switch self {
        case .revocationReason, .isUpgraded, .offerType, .price: .integer
        case .purchaseDate, .expiresDate, .revocationDate, .signedDate: .time
        default: .text
        }
    }
}

/// The three forms that a column's values have.
package enum FieldForm: Hashable, Sendable {
    case text, integer, time
}

/// A value of a column.
package enum FieldValue: Hashable, Sendable {
    case null
    case text(String)
    case integer(Int64)
    case time(Timestamp)

    package init(_ value: String?) { self = value.map(FieldValue.text) ?? .null }
    package init(_ value: Int?) { self = value.map { .integer(Int64($0)) } ?? .null }
    package init(_ value: Int64?) { self = value.map(FieldValue.integer) ?? .null }
    package init(_ value: Timestamp?) { self = value.map(FieldValue.time) ?? .null }

    /// Whether nothing is known: empty text says as little as null.
    package var isEmpty: Bool { self == .null || self == .text("") }

    /// As it stands in the canonical files: times are RFC 3339 text.
    package var json: CanonicalJSON {
        switch self {
        case .null: .null
        case .text(let text): .string(text)
        case .integer(let number): .integer(number)
        case .time(let time): .string(time.rfc3339)
        }
    }

    /// As it stands in a CSV field; nothing for null.
    package var plainText: String {
        switch self {
        case .null: ""
        case .text(let text): text
        case .integer(let number): String(number)
        case .time(let time): time.rfc3339
        }
    }
}
