import GRDB
import Subscriptions

extension LocalSubscription {
    /// The columns that `init(_:)` reads, of the table `s`.
    static let columns =
        SubscriptionField.allCases.map { "s." + $0.rawValue }.joined(separator: ", ")
        + ", s.row_version"

    /// How many columns those are: what a query adds comes after them.
    static let columnCount = SubscriptionField.allCases.count + 1

    /// Reads a row of `columns`; what is not of a column's form reads as absent.
    init(_ row: Row) {
        self.init(
            key: SubscriptionKey(
                bundleID: row.requiredText(at: 2), environment: row.requiredText(at: 1),
                originalTransactionID: row.requiredText(at: 0)))
        customerID = row.text(at: 3)
        appAccountToken = row.text(at: 4)
        productID = row.text(at: 5)
        status = row.number(at: 6)
        expiresDate = row.time(at: 7)
        gracePeriodExpiresDate = row.time(at: 8)
        autoRenewStatus = row.number(at: 9)
        autoRenewProductID = row.text(at: 10)
        revocationDate = row.time(at: 11)
        inAppOwnershipType = row.text(at: 12)
        latestTransactionID = row.text(at: 13)
        webOrderLineItemID = row.text(at: 14)
        signedDate = row.time(at: 15)
        rowVersion = row.integer(at: 16) ?? 0
    }
}
