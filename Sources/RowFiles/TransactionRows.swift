package import Subscriptions

/// Reads a file of local transaction rows.
package typealias TransactionFileReader = RowFileReader<TransactionField, LocalTransaction>

/// Files of local transaction (period) rows (contract, section 5).
extension RowFileReader where Field == TransactionField, Row == LocalTransaction {
    /// - Parameters:
    ///   - path: `-` is standard input.
    ///   - apps: the configured ones, for lines that do not name theirs.
    /// - Throws: `RowFileError` when the file as a whole cannot be used.
    package init(transactionsAt path: String, apps: [AppIdentity]) throws(RowFileError) {
        let resolution = AppResolution(apps: apps)
        try self.init(
            path: path, columns: TransactionField.allCases.map { ($0, $0.rawValue) },
            required: [.transactionID, .originalTransactionID]
        ) { record throws(BadField) in
            try LocalTransaction(record, resolution)
        }
    }
}

/// Places of the columns, in the order of `TransactionField`.
private enum Column {
    static let transactionID = 0
    static let originalTransactionID = 1
    static let environment = 2
    static let bundleID = 3
    static let productID = 4
    static let type = 5
    static let purchaseDate = 6
    static let expiresDate = 7
    static let revocationDate = 8
    static let revocationReason = 9
    static let webOrderLineItemID = 10
    static let inAppOwnershipType = 11
    static let isUpgraded = 12
    static let offerType = 13
    static let price = 14
    static let currency = 15
    static let signedDate = 16
}

extension LocalTransaction {
    fileprivate init(
        _ record: borrowing RecordBuffer, _ resolution: AppResolution
    ) throws(BadField) {
        let id = try record.requiredID(Column.transactionID)
        let original = try record.requiredID(Column.originalTransactionID)
        let app = try resolution.resolve(
            bundleID: try record.text(Column.bundleID),
            environment: try record.text(Column.environment))
        self.init(
            key: TransactionKey(
                bundleID: app.bundleID, environment: app.environment, transactionID: id),
            originalTransactionID: original)
        productID = try record.text(Column.productID)
        type = try record.text(Column.type)
        purchaseDate = try record.time(Column.purchaseDate)
        expiresDate = try record.time(Column.expiresDate)
        revocationDate = try record.time(Column.revocationDate)
        // Apple may add reasons and offers: any small number is kept.
        revocationReason = try record.integer(
            Column.revocationReason, in: 0...Int64(Int32.max), "must be a whole number")
        webOrderLineItemID = try record.id(Column.webOrderLineItemID)
        inAppOwnershipType = try record.text(Column.inAppOwnershipType)
        isUpgraded = try record.boolean(Column.isUpgraded)
        offerType = try record.integer(
            Column.offerType, in: 0...Int64(Int32.max), "must be a whole number")
        price = try record.integer(
            Column.price, "must be whole milliunits: 10.99 is written 10990")
        currency = try record.text(Column.currency)
        signedDate = try record.time(Column.signedDate)
    }
}
