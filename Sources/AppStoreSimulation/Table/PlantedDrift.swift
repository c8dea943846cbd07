/// One planted difference, with the findings that a comparison must report.
struct PlantedDrift: Sendable {
    /// The id in the table; for a missing row, Apple's.
    var originalTransactionID: String
    /// All kinds of findings for this row (docs/findings.md); the first is the planted one.
    var kinds: [String]
    var customerID: String?
    var field: String?
    var tableValue: String?
    var appleValue: String?
    var notificationUUID: String?

    func write(into json: inout JSONWriter) {
        json.object { json in
            json.field("original_transaction_id", originalTransactionID)
            json.field("kind", kinds.first)
            json.key("kinds")
            json.array { json in
                for kind in kinds { json.string(kind) }
            }
            json.field("customer_id", customerID)
            json.field("field", field)
            json.field("table_value", tableValue)
            json.field("apple_value", appleValue)
            json.field("notification_uuid", notificationUUID)
        }
    }
}

/// The kinds of drift that can be planted; raw values are the finding kinds of docs/findings.md.
package enum DriftKind: String, Sendable, CaseIterable {
    case refundReversalMissed = "refund_reversal_missed"
    case graceMissed = "grace_missed"
    case revocationMissed = "revocation_missed"
    case accessMissing = "access_missing"
    case accessUnpaid = "access_unpaid"
    case status
    case expiry
    case product
    case renewalPreference = "renewal_preference"
    case revocationDate = "revocation_date"
    case latestTransaction = "latest_transaction"
    case ownership
    case seats
    case identity
    case missingLocally = "missing_locally"
    case notFound = "not_found"
    case accountNotFound = "account_not_found"
    case invalidID = "invalid_id"
    case duplicateLocal = "duplicate_local"
    case notificationMissed = "notification_missed"
    case wrongApp = "wrong_app"
    case purchaseMissing = "purchase_missing"
    case purchaseRefundMissed = "purchase_refund_missed"
    case purchaseUnknown = "purchase_unknown"

    /// Whether it is planted among the one-time purchases.
    var isOfPurchase: Bool {
        [.purchaseMissing, .purchaseRefundMissed, .purchaseUnknown].contains(self)
    }
}
