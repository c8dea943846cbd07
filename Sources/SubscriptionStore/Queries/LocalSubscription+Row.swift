import GRDB
import Subscriptions

extension LocalSubscription {
    /// The columns that `init(_:)` reads, of the table `s`.
    static let columns =
        SubscriptionField.allCases.map { "s." + $0.rawValue }.joined(separator: ", ")
        + ", s.row_version"

    /// How many columns those are: what a query adds comes after them.
    static let columnCount = SubscriptionField.allCases.count + 1

    /// Reads a row of `columns`; what is not of a column's form stands in `unreadable`.
    ///
    /// The customer is the company's own: it is shown and never compared, so any form will do.
    init(_ row: Row) {
        self.init(
            key: SubscriptionKey(
                bundleID: row.requiredText(at: 2), environment: row.requiredText(at: 1),
                originalTransactionID: row.requiredText(at: 0)))
        customerID = row.text(at: 3).flatMap { $0.isEmpty ? nil : $0 }
        var reader = ColumnReader<SubscriptionField>(row)
        appAccountToken = reader.text(at: 4, .appAccountToken)
        productID = reader.text(at: 5, .productID)
        status = reader.number(at: 6, .status)
        expiresDate = reader.time(at: 7, .expiresDate)
        gracePeriodExpiresDate = reader.time(at: 8, .gracePeriodExpiresDate)
        autoRenewStatus = reader.number(at: 9, .autoRenewStatus)
        autoRenewProductID = reader.text(at: 10, .autoRenewProductID)
        revocationDate = reader.time(at: 11, .revocationDate)
        inAppOwnershipType = reader.text(at: 12, .inAppOwnershipType)
        latestTransactionID = reader.text(at: 13, .latestTransactionID)
        webOrderLineItemID = reader.text(at: 14, .webOrderLineItemID)
        signedDate = reader.time(at: 15, .signedDate)
        rowVersion = row.integer(at: 16) ?? 0
        unreadable = reader.unreadable
        emptyTexts = reader.emptyTexts
    }
}
