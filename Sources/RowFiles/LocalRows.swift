import FoundationEssentials
package import Subscriptions

/// Reads a file of local subscription rows.
package typealias SubscriptionFileReader = RowFileReader<SubscriptionField, LocalSubscription>

/// Files of local subscription rows (docs/columns.md).
extension RowFileReader where Field == SubscriptionField, Row == LocalSubscription {
    /// - Parameters:
    ///   - path: `-` is standard input.
    ///   - apps: the configured ones, for lines that do not name theirs.
    ///   - mapping: what columns with other names than trueup's mean.
    /// - Throws: `RowFileError` when the file as a whole cannot be used.
    package init(
        subscriptionsAt path: String, apps: [AppIdentity], mapping: ColumnMapping = ColumnMapping()
    ) throws(RowFileError) {
        let columns = SubscriptionField.allCases.map(\.definition)
        try self.init(
            path: path, required: [.originalTransactionID], mapping: mapping
        ) { record throws(BadField) in
            let id = try record.requiredID(SubscriptionField.originalTransactionID.place)
            let app = try apps.resolve(
                bundleID: try record.text(SubscriptionField.bundleID.place),
                environment: try record.text(SubscriptionField.environment.place))
            var row = LocalSubscription(
                key: SubscriptionKey(
                    bundleID: app.bundleID, environment: app.environment,
                    originalTransactionID: id))
            try record.read(columns, into: &row)
            return row
        }
    }
}

/// Reads a file of local transaction rows: of periods or of purchases.
package typealias TransactionFileReader = RowFileReader<TransactionField, LocalTransaction>

/// Files of local transaction rows (docs/columns.md).
extension RowFileReader where Field == TransactionField, Row == LocalTransaction {
    /// - Parameters:
    ///   - path: `-` is standard input.
    ///   - table: where the rows belong. A purchase without an original id is the original itself.
    ///   - apps: the configured ones, for lines that do not name theirs.
    ///   - mapping: what columns with other names than trueup's mean.
    /// - Throws: `RowFileError` when the file as a whole cannot be used.
    package init(
        transactionsAt path: String, of table: TransactionTable = .periods, apps: [AppIdentity],
        mapping: ColumnMapping = ColumnMapping()
    ) throws(RowFileError) {
        let columns = table.fields.map(\.definition)
        try self.init(
            path: path, fields: table.fields,
            required: table == .periods
                ? [.transactionID, .originalTransactionID] : [.transactionID],
            mapping: mapping
        ) { record throws(BadField) in
            // These four come first in both tables, so their places are those in the whole list.
            let id = try record.requiredID(TransactionField.transactionID.place)
            let named = try record.id(TransactionField.originalTransactionID.place)
            guard let original = named ?? (table == .purchases ? id : nil) else {
                throw BadField("original_transaction_id is empty")
            }
            let app = try apps.resolve(
                bundleID: try record.text(TransactionField.bundleID.place),
                environment: try record.text(TransactionField.environment.place))
            var row = LocalTransaction(
                key: TransactionKey(
                    bundleID: app.bundleID, environment: app.environment, transactionID: id),
                originalTransactionID: original)
            try record.read(columns, into: &row)
            return row
        }
    }
}

/// The keys of a line of the inbox file.
package enum NotificationField: String, NamedColumn {
    case signedPayload
    case notificationUUID
    case receivedAt
}

/// Reads a file of received notifications.
package typealias NotificationFileReader = RowFileReader<
    NotificationField, ReceivedNotification
>

/// Files of received notifications (docs/columns.md): JSON Lines of a payload or of an id.
extension RowFileReader where Field == NotificationField, Row == ReceivedNotification {
    /// Opens a file of received notifications.
    ///
    /// - Parameters:
    ///   - path: `-` is standard input.
    ///   - mapping: what keys with other names than trueup's mean.
    /// - Throws: `RowFileError` when the file as a whole cannot be used.
    package init(
        notificationsAt path: String, mapping: ColumnMapping = ColumnMapping()
    ) throws(RowFileError) {
        try self.init(
            path: path, required: [.notificationUUID], mapping: mapping
        ) { record throws(BadField) in
            try ReceivedNotification(record)
        }
    }
}

extension ReceivedNotification {
    /// Apple's have 36; no index of a database takes any number.
    private static let longestIDBytes = 200

    fileprivate init(_ record: borrowing RecordBuffer) throws(BadField) {
        let payload = try record.text(NotificationField.signedPayload.place)
        let claimed = try payload.map { jws throws(BadField) in
            try NotificationClaim.notificationUUID(ofPayload: jws)
        }
        let named = try record.text(NotificationField.notificationUUID.place)
        if let claimed, let named, claimed != named {
            throw BadField("notificationUUID names another notification than signedPayload")
        }
        guard let uuid = claimed ?? named else {
            throw BadField("has neither signedPayload nor notificationUUID")
        }
        guard uuid.utf8.count <= Self.longestIDBytes else {
            throw BadField(
                "notificationUUID has more than \(Self.longestIDBytes) bytes; it is a UUID")
        }
        self.init(
            notificationUUID: uuid, receivedAt: try record.time(NotificationField.receivedAt.place))
    }
}

/// The id that an imported payload claims.
///
/// Its signature is not checked, because nothing is believed on its strength: it says which
/// notification the company claims to have received, as a bare `notificationUUID` does. What
/// Apple sent is always read from Apple's own history, verified.
private struct NotificationClaim: Decodable {
    let notificationUUID: String

    static func notificationUUID(ofPayload jws: String) throws(BadField) -> String {
        guard let payload = JWSSegments.payload(of: jws) else {
            throw BadField("signedPayload is not a compact JWS of three parts")
        }
        guard let claim = try? JSONDecoder().decode(NotificationClaim.self, from: Data(payload)),
            !claim.notificationUUID.isEmpty
        else { throw BadField("signedPayload holds no notification with a notificationUUID") }
        return claim.notificationUUID
    }
}
