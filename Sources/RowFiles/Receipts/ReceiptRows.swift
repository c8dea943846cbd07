package import Subscriptions

/// The columns of a file of receipts.
package enum ReceiptField: String, NamedColumn {
    case receipt
    case customerID = "customer_id"
    case appAccountToken = "app_account_token"
    case bundleID = "bundle_id"
    case environment

    /// The column of the rows that takes what is here.
    package var ofRow: SubscriptionField? {
        switch self {
        case .receipt: nil
        case .customerID: .customerID
        case .appAccountToken: .appAccountToken
        case .bundleID: .bundleID
        case .environment: .environment
        }
    }
}

/// The rows that a line with a receipt gives.
package struct ReceiptRows: Sendable {
    /// A row without a status for each subscription that the receipt names.
    package var rows: [LocalSubscription]
    /// How many purchases it names that are not auto-renewable subscriptions.
    package var otherPurchases: Int
}

/// Reads a file of receipts.
package typealias ReceiptFileReader = RowFileReader<ReceiptField, ReceiptRows>

/// Files of receipts (docs/columns.md): CSV or JSON Lines, or bare base64, one receipt a line.
extension RowFileReader where Field == ReceiptField, Row == ReceiptRows {
    /// - Parameters:
    ///   - path: `-` is standard input.
    ///   - apps: the configured ones: a receipt of another is a bad line.
    ///   - mapping: what columns with other names than trueup's mean.
    /// - Throws: `RowFileError` when the file as a whole cannot be used.
    package init(
        receiptsAt path: String, apps: [AppIdentity], mapping: ColumnMapping = ColumnMapping()
    ) throws(RowFileError) {
        try self.init(
            path: path, required: [.receipt], mapping: mapping, bareColumn: .receipt,
            maximumRecordBytes: ReceiptClaim.maximumBytes / 3 * 4 + RecordBuffer.usualRecordBytes
        ) { record throws(BadField) in
            try ReceiptRows(record, apps: apps)
        }
    }

    /// The columns of the rows that the last line gave, the lowest bit for the first of
    /// `SubscriptionField`; `nil` for those of the file.
    package var givenOfRows: UInt64? {
        guard let given else { return nil }
        var columns = ColumnSet()
        for (index, field) in ReceiptField.allCases.enumerated() where given.contains(index) {
            guard let place = SubscriptionField.allCases.firstIndex(where: { $0 == field.ofRow })
            else { continue }
            columns.insert(place)
        }
        return columns.bits
    }
}

extension ReceiptRows {
    fileprivate init(_ record: borrowing RecordBuffer, apps: [AppIdentity]) throws(BadField) {
        guard let receipt = try record.text(ReceiptField.receipt.place) else {
            throw BadField("receipt is empty")
        }
        let claim = try ReceiptClaim(receipt: receipt)
        let bundleID = try Self.agreed(
            .bundleID, try record.text(ReceiptField.bundleID.place), claim.bundleID)
        let environment = try Self.agreed(
            .environment, try record.text(ReceiptField.environment.place),
            claim.environment?.rawValue)
        let app = try apps.resolve(receiptOf: bundleID, in: environment)
        let customerID = try record.name(ReceiptField.customerID.place)
        let token = try record.text(ReceiptField.appAccountToken.place)
        rows = claim.ids.map { id in
            var row = LocalSubscription(
                key: SubscriptionKey(
                    bundleID: app.bundleID, environment: app.environment,
                    originalTransactionID: id))
            row.customerID = customerID
            row.appAccountToken = token
            return row
        }
        otherPurchases = claim.otherPurchases
    }

    /// Returns the value of the line, or otherwise of the receipt; they must not contradict each
    /// other.
    private static func agreed(
        _ field: ReceiptField, _ ours: String?, _ claimed: String?
    ) throws(BadField) -> String? {
        guard let ours, let claimed, ours != claimed else { return ours ?? claimed }
        throw BadField(
            field.rawValue, ours.utf8,
            "is not that of the receipt, which says \(BadField.quoted(claimed.utf8))")
    }
}

extension [AppIdentity] {
    /// Resolves the app of a line that must be of a configured app, because Apple is asked about
    /// it.
    fileprivate func resolve(
        receiptOf bundleID: String?, in environment: String?
    ) throws(BadField) -> (bundleID: String, environment: String) {
        let isConfigured = contains { $0.fits(bundleID: bundleID, environment: environment) }
        // An environment that is none gets its own message below.
        let isMisspelt = environment.map { AppStoreEnvironment(rawValue: $0) == nil } ?? false
        guard isConfigured || isMisspelt else {
            let app = bundleID.map { "the app \(BadField.quoted($0.utf8))" } ?? "an app"
            throw BadField(
                "receipt is of \(app)\(environment.map { " in " + $0 } ?? ""), which is not configured"
            )
        }
        return try resolve(bundleID: bundleID, environment: environment)
    }
}
