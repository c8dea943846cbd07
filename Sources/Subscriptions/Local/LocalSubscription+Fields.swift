extension LocalSubscription {
    /// The value of a column.
    package func value(of field: SubscriptionField) -> FieldValue {
        switch field {
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
