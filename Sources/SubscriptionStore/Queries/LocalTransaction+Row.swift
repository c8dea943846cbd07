import GRDB
import Subscriptions

extension LocalTransaction {
    /// The columns that `init(_:)` reads, of the table `t`.
    static let columns =
        TransactionField.allCases.map { "t." + $0.rawValue }.joined(separator: ", ")

    /// Reads a row of `columns`; what is not of a column's form stands in `unreadable`.
    init(_ row: Row) {
        self.init(
            key: TransactionKey(
                bundleID: row.requiredText(at: 3), environment: row.requiredText(at: 2),
                transactionID: row.requiredText(at: 0)),
            originalTransactionID: row.requiredText(at: 1))
        var reader = ColumnReader<TransactionField>(row)
        productID = reader.text(at: 4, .productID)
        type = reader.text(at: 5, .type)
        purchaseDate = reader.time(at: 6, .purchaseDate)
        expiresDate = reader.time(at: 7, .expiresDate)
        revocationDate = reader.time(at: 8, .revocationDate)
        revocationReason = reader.number(at: 9, .revocationReason)
        webOrderLineItemID = reader.text(at: 10, .webOrderLineItemID)
        inAppOwnershipType = reader.text(at: 11, .inAppOwnershipType)
        isUpgraded = reader.integer(at: 12, .isUpgraded).map { $0 != 0 }
        offerType = reader.number(at: 13, .offerType)
        price = reader.integer(at: 14, .price)
        currency = reader.text(at: 15, .currency)
        signedDate = reader.time(at: 16, .signedDate)
        unreadable = reader.unreadable
    }
}
