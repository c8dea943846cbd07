package import Subscriptions

/// Reads a file of local subscription rows.
package typealias SubscriptionFileReader = RowFileReader<SubscriptionField, LocalSubscription>

/// Files of local subscription rows (contract, section 5).
extension RowFileReader where Field == SubscriptionField, Row == LocalSubscription {
    /// - Parameters:
    ///   - path: `-` is standard input.
    ///   - apps: the configured ones, for lines that do not name theirs.
    /// - Throws: `RowFileError` when the file as a whole cannot be used.
    package init(subscriptionsAt path: String, apps: [AppIdentity]) throws(RowFileError) {
        let resolution = AppResolution(apps: apps)
        try self.init(
            path: path, columns: SubscriptionField.allCases.map { ($0, $0.rawValue) },
            required: [.originalTransactionID]
        ) { record throws(BadField) in
            try LocalSubscription(record, resolution)
        }
    }
}

/// Places of the columns, in the order of `SubscriptionField`.
private enum Column {
    static let originalTransactionID = 0
    static let environment = 1
    static let bundleID = 2
    static let customerID = 3
    static let appAccountToken = 4
    static let productID = 5
    static let status = 6
    static let expiresDate = 7
    static let gracePeriodExpiresDate = 8
    static let autoRenewStatus = 9
    static let autoRenewProductID = 10
    static let revocationDate = 11
    static let inAppOwnershipType = 12
    static let latestTransactionID = 13
    static let webOrderLineItemID = 14
    static let signedDate = 15
}

extension LocalSubscription {
    fileprivate init(
        _ record: borrowing RecordBuffer, _ resolution: AppResolution
    ) throws(BadField) {
        let id = try record.requiredID(Column.originalTransactionID)
        let app = try resolution.resolve(
            bundleID: try record.text(Column.bundleID),
            environment: try record.text(Column.environment))
        self.init(
            key: SubscriptionKey(
                bundleID: app.bundleID, environment: app.environment, originalTransactionID: id))
        customerID = try record.name(Column.customerID)
        appAccountToken = try record.text(Column.appAccountToken)
        productID = try record.text(Column.productID)
        status = try record.integer(
            Column.status, in: 1...5,
            "is not a status; known are 1 active, 2 expired, 3 billing retry, 4 grace, 5 revoked")
        expiresDate = try record.time(Column.expiresDate)
        gracePeriodExpiresDate = try record.time(Column.gracePeriodExpiresDate)
        autoRenewStatus = try record.integer(
            Column.autoRenewStatus, in: 0...1, "must be 0 (off) or 1 (on)")
        autoRenewProductID = try record.text(Column.autoRenewProductID)
        revocationDate = try record.time(Column.revocationDate)
        inAppOwnershipType = try record.text(Column.inAppOwnershipType)
        latestTransactionID = try record.id(Column.latestTransactionID)
        webOrderLineItemID = try record.id(Column.webOrderLineItemID)
        signedDate = try record.time(Column.signedDate)
    }
}
