package import Subscriptions

/// Reads a file of local subscription rows.
package typealias SubscriptionFileReader = RowFileReader<SubscriptionField, LocalSubscription>

/// Files of local subscription rows (docs/columns.md).
extension RowFileReader where Field == SubscriptionField, Row == LocalSubscription {
    /// - Parameters:
    ///   - path: `-` is standard input.
    ///   - apps: the configured ones, for lines that do not name theirs.
    ///   - mapping: what columns with other names than ours mean.
    /// - Throws: `RowFileError` when the file as a whole cannot be used.
    package init(
        subscriptionsAt path: String, apps: [AppIdentity], mapping: ColumnMapping = ColumnMapping()
    ) throws(RowFileError) {
        let resolution = AppResolution(apps: apps)
        let columns = SubscriptionField.allCases.map(\.definition)
        try self.init(
            path: path, required: [.originalTransactionID], mapping: mapping
        ) { record throws(BadField) in
            let id = try record.requiredID(SubscriptionField.originalTransactionID)
            let app = try resolution.resolve(
                bundleID: try record.text(SubscriptionField.bundleID),
                environment: try record.text(SubscriptionField.environment))
            var row = LocalSubscription(
                key: SubscriptionKey(
                    bundleID: app.bundleID, environment: app.environment,
                    originalTransactionID: id))
            try record.read(columns, into: &row)
            return row
        }
    }
}

/// Reads a file of local transaction rows.
package typealias TransactionFileReader = RowFileReader<TransactionField, LocalTransaction>

/// Files of local transaction (period) rows (docs/columns.md).
extension RowFileReader where Field == TransactionField, Row == LocalTransaction {
    /// - Parameters:
    ///   - path: `-` is standard input.
    ///   - apps: the configured ones, for lines that do not name theirs.
    ///   - mapping: what columns with other names than ours mean.
    /// - Throws: `RowFileError` when the file as a whole cannot be used.
    package init(
        transactionsAt path: String, apps: [AppIdentity], mapping: ColumnMapping = ColumnMapping()
    ) throws(RowFileError) {
        let resolution = AppResolution(apps: apps)
        let columns = TransactionField.allCases.map(\.definition)
        try self.init(
            path: path, required: [.transactionID, .originalTransactionID], mapping: mapping
        ) { record throws(BadField) in
            let id = try record.requiredID(TransactionField.transactionID)
            let original = try record.requiredID(TransactionField.originalTransactionID)
            let app = try resolution.resolve(
                bundleID: try record.text(TransactionField.bundleID),
                environment: try record.text(TransactionField.environment))
            var row = LocalTransaction(
                key: TransactionKey(
                    bundleID: app.bundleID, environment: app.environment, transactionID: id),
                originalTransactionID: original)
            try record.read(columns, into: &row)
            return row
        }
    }
}
