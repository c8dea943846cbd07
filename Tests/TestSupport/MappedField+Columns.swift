package import Subscriptions

/// Columns of subscriptions by their short names, in mappings and rows of tests.
extension MappedField {
    package static let originalTransactionID = MappedField.subscription(.originalTransactionID)
    package static let environment = MappedField.subscription(.environment)
    package static let bundleID = MappedField.subscription(.bundleID)
    package static let customerID = MappedField.subscription(.customerID)
    package static let appAccountToken = MappedField.subscription(.appAccountToken)
    package static let productID = MappedField.subscription(.productID)
    package static let gracePeriodExpiresDate = MappedField.subscription(.gracePeriodExpiresDate)
    package static let autoRenewStatus = MappedField.subscription(.autoRenewStatus)
    package static let autoRenewProductID = MappedField.subscription(.autoRenewProductID)
    package static let revocationDate = MappedField.subscription(.revocationDate)
    package static let inAppOwnershipType = MappedField.subscription(.inAppOwnershipType)
    package static let webOrderLineItemID = MappedField.subscription(.webOrderLineItemID)
    package static let signedDate = MappedField.subscription(.signedDate)
}
