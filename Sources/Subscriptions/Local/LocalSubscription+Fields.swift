extension LocalSubscription {
    /// What stands in a column, to be written down as what was there before: a change must be
    /// possible to take back to the letter.
    package func storedValue(of field: SubscriptionField) -> FieldValue {
        emptyTexts.contains(field) ? .text("") : value(of: field)
    }

    /// The value of a column; of one that cannot be read, what stands there.
    package func value(of field: SubscriptionField) -> FieldValue {
        if let shown = unreadable[field] { return .text(shown) }
        return switch field {
        case .originalTransactionID: .text(key.originalTransactionID)
        case .environment: .text(key.environment)
        case .bundleID: .text(key.bundleID)
        case .customerID: FieldValue(customerID)
        case .appAccountToken: FieldValue(appAccountToken)
        case .productID: FieldValue(productID)
        case .status: FieldValue(status)
        case .expiresDate: FieldValue(expiresDate)
        case .gracePeriodExpiresDate: FieldValue(gracePeriodExpiresDate)
        case .autoRenewStatus: FieldValue(autoRenewStatus)
        case .autoRenewProductID: FieldValue(autoRenewProductID)
        case .revocationDate: FieldValue(revocationDate)
        case .inAppOwnershipType: FieldValue(inAppOwnershipType)
        case .latestTransactionID: FieldValue(latestTransactionID)
        case .webOrderLineItemID: FieldValue(webOrderLineItemID)
        case .signedDate: FieldValue(signedDate)
        }
    }
}
