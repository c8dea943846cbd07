import Subscriptions

extension StatedSubscription {
    /// The columns that Apple's statement speaks of; the others are the company's own.
    static let statedFields: [SubscriptionField] = [
        .appAccountToken, .productID, .status, .expiresDate, .gracePeriodExpiresDate,
        .autoRenewStatus, .autoRenewProductID, .revocationDate, .inAppOwnershipType,
        .latestTransactionID, .webOrderLineItemID, .signedDate,
    ]

    /// Ownership types that this version knows; another one is kept out of the row.
    static let knownOwnershipTypes: Set<String> = ["PURCHASED", "FAMILY_SHARED", "ASSIGNED"]

    /// What Apple states for a column; null where it states nothing that may be written.
    func value(of field: SubscriptionField) -> FieldValue {
        switch field {
        case .appAccountToken: FieldValue(transaction.appAccountToken)
        case .productID: FieldValue(transaction.productID)
        case .status: FieldValue(status.rawValue)
        case .expiresDate: FieldValue(transaction.expiresDate)
        case .gracePeriodExpiresDate: FieldValue(renewal.gracePeriodExpiresDate)
        case .autoRenewStatus: FieldValue(knownAutoRenewStatus)
        case .autoRenewProductID: FieldValue(renewal.autoRenewProductID)
        case .revocationDate: FieldValue(transaction.revocationDate)
        case .inAppOwnershipType: FieldValue(knownOwnershipType)
        case .latestTransactionID: FieldValue(transaction.transactionID)
        case .webOrderLineItemID: FieldValue(transaction.webOrderLineItemID)
        case .signedDate: FieldValue(signedDate)
        case .originalTransactionID, .environment, .bundleID, .customerID: .null
        }
    }

    /// The payload that a column comes from.
    func payload(of field: SubscriptionField) -> SignedPayload {
        switch field {
        case .autoRenewStatus, .autoRenewProductID, .gracePeriodExpiresDate: renewal.evidence
        default: transaction.evidence
        }
    }

    /// The group as signed; the unsigned one around it where the payload names none.
    var group: String { transaction.subscriptionGroupID ?? subscriptionGroupID }

    /// Whether the customer pays for it, as opposed to a member of the family.
    var isPurchased: Bool { transaction.inAppOwnershipType == "PURCHASED" }

    private var knownAutoRenewStatus: Int? {
        renewal.autoRenewStatus.flatMap { (0...1).contains($0) ? $0 : nil }
    }

    private var knownOwnershipType: String? {
        transaction.inAppOwnershipType.flatMap {
            Self.knownOwnershipTypes.contains($0) ? $0 : nil
        }
    }
}
