/// A row of the company's table: what it believes about one subscription.
///
/// A row without `status` is *not known yet*. In a row with a status, an absent `revocationDate` or
/// `gracePeriodExpiresDate` says that there is none; any other absent field is not known yet
/// (docs/columns.md). Empty text is absent in every column. A column whose value is not of its
/// form is absent and stands in `unreadable`: nothing is known of it, and nothing may be written.
package struct LocalSubscription: Hashable, Sendable {
    package var key: SubscriptionKey
    package var customerID: String?
    package var appAccountToken: String?
    package var productID: String?
    package var status: Int?
    package var expiresDate: Timestamp?
    package var gracePeriodExpiresDate: Timestamp?
    package var autoRenewStatus: Int?
    package var autoRenewProductID: String?
    package var revocationDate: Timestamp?
    package var inAppOwnershipType: String?
    package var latestTransactionID: String?
    package var webOrderLineItemID: String?
    /// When Apple signed the statement that the row rests on.
    package var signedDate: Timestamp?
    /// Raised by the database on every update, whoever writes; 0 before the row is stored.
    package var rowVersion: Int64
    /// What stands in columns and is not of their form, made safe to show.
    package var unreadable: [SubscriptionField: String] = [:]
    /// Columns that hold empty text rather than nothing.
    package var emptyTexts: Set<SubscriptionField> = []

    package init(key: SubscriptionKey) {
        self.key = key
        self.rowVersion = 0
    }
}
