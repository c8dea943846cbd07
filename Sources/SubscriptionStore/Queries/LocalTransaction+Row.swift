import GRDB
import Subscriptions

extension LocalTransaction {
    /// The columns that `init(_:)` reads, of the table `t`.
    static let columns =
        TransactionField.allCases.map { "t." + $0.rawValue }.joined(separator: ", ")

    /// Reads a row of `columns`; what is not of a column's form reads as absent.
    init(_ row: Row) {
        self.init(
            key: TransactionKey(
                bundleID: row.requiredText(at: 3), environment: row.requiredText(at: 2),
                transactionID: row.requiredText(at: 0)),
            originalTransactionID: row.requiredText(at: 1))
        productID = row.text(at: 4)
        type = row.text(at: 5)
        purchaseDate = row.time(at: 6)
        expiresDate = row.time(at: 7)
        revocationDate = row.time(at: 8)
        revocationReason = row.number(at: 9)
        webOrderLineItemID = row.text(at: 10)
        inAppOwnershipType = row.text(at: 11)
        isUpgraded = row.integer(at: 12).map { $0 != 0 }
        offerType = row.number(at: 13)
        price = row.integer(at: 14)
        currency = row.text(at: 15)
        signedDate = row.time(at: 16)
    }
}
