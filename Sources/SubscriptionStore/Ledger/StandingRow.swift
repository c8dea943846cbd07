import GRDB
import Subscriptions

/// The columns of one row as they stand, to be compared with what was written there.
struct StandingRow: Equatable {
    /// Every column of the table's that is ours and not null, by name.
    var values: [String: FieldValue]

    private init(values: [String: FieldValue]) {
        self.values = values.filter { $0.value != .null }
    }

    subscript(column: String) -> FieldValue { values[column] ?? .null }

    static func subscription(_ key: SubscriptionKey, _ db: Database) throws -> StandingRow? {
        let columns = SubscriptionField.stored
        let read = try db.cachedStatement(
            sql: """
                SELECT \(columns.map(\.rawValue).joined(separator: ", ")) FROM subscriptions
                WHERE bundle_id = ? AND environment = ? AND original_transaction_id = ?
                """)
        // At the cursor, where bytes that are no text are still seen.
        let rows = try Row.fetchCursor(read, arguments: key.arguments)
        return try rows.next().map { row in
            StandingRow(row, columns.map { ($0.rawValue, $0.form) })
        }
    }

    static func period(_ key: TransactionKey, _ db: Database) throws -> StandingRow? {
        let columns = TransactionField.allCases
        let read = try db.cachedStatement(
            sql: """
                SELECT \(columns.map(\.rawValue).joined(separator: ", ")) FROM transactions
                WHERE bundle_id = ? AND environment = ? AND transaction_id = ?
                """)
        let identity: StatementArguments = [key.bundleID, key.environment, key.transactionID]
        let rows = try Row.fetchCursor(read, arguments: identity)
        return try rows.next().map { row in
            StandingRow(row, columns.map { ($0.rawValue, $0.form) })
        }
    }

    private init(_ row: Row, _ columns: [(name: String, form: FieldForm)]) {
        var values: [String: FieldValue] = [:]
        for (index, column) in columns.enumerated() {
            switch row.reading(at: index, as: column.form) {
            case .value(let value): values[column.name] = value
            case .unreadable(let shown): values[column.name] = .text(shown)
            }
        }
        self.init(values: values)
    }

    /// The row as a correction inserted it; with a transaction id, a period of the subscription.
    init(inserted values: [String: FieldValue], of key: SubscriptionKey, transactionID: String?) {
        var values = values
        values["bundle_id"] = .text(key.bundleID)
        values["environment"] = .text(key.environment)
        values["original_transaction_id"] = .text(key.originalTransactionID)
        if let transactionID { values["transaction_id"] = .text(transactionID) }
        self.init(values: values)
    }

    /// The row after a change.
    func changed(_ changes: ChangeSet) -> StandingRow {
        StandingRow(values: values.merging(changes.after) { $1 })
    }
}
