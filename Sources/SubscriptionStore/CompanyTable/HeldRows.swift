import GRDB
import Subscriptions

/// Reads the company's rows with their periods and duplicates, which are asked for only where the
/// row says that there are any.
struct HeldRows {
    let db: Database

    /// More other rows than these are not listed: they make nothing clearer.
    private static let duplicatesListed = 20

    /// Apple's line items are numbers; `0`, a dash or a word stand for one that is not known, and
    /// may do so in every row.
    private static func isLineItem(_ column: String) -> String { "\(column) GLOB '*[1-9]*'" }

    private static let columns = """
        \(LocalSubscription.columns),
        EXISTS (SELECT 1 FROM transactions AS t
            WHERE t.bundle_id = s.bundle_id AND t.environment = s.environment
                AND t.original_transaction_id = s.original_transaction_id),
        \(hasDuplicates)
        """

    /// Whether another row holds the original transaction or the line item of the row `s`.
    static let hasDuplicates = """
        (EXISTS (SELECT 1 FROM subscriptions AS d
            WHERE d.original_transaction_id = s.original_transaction_id
                AND (d.bundle_id <> s.bundle_id OR d.environment <> s.environment))
        OR EXISTS (SELECT 1 FROM subscriptions AS d
            WHERE d.web_order_line_item_id = s.web_order_line_item_id
                AND \(isLineItem("s.web_order_line_item_id"))
                AND d.bundle_id = s.bundle_id AND d.environment = s.environment
                AND d.original_transaction_id <> s.original_transaction_id))
        """

    func page(
        after position: StoredKey?, limit: Int
    ) throws -> (rows: [HeldRow], unspeakable: [SubscriptionKey: StoredKey]) {
        let start = position ?? .first
        // Everything sorts at or after the empty key, which is a key like any other.
        let relation = position == nil ? ">=" : ">"
        let statement = try db.cachedStatement(
            sql: """
                SELECT \(Self.columns) FROM subscriptions AS s
                WHERE (s.bundle_id, s.environment, s.original_transaction_id)
                    \(relation) \(start.marks)
                ORDER BY s.bundle_id, s.environment, s.original_transaction_id LIMIT ?
                """)
        let arguments = start.arguments + [limit]
        var unspeakable: [SubscriptionKey: StoredKey] = [:]
        let rows = try collect(statement, arguments) { row, key in
            guard try !StoredKey.isSpelled(key, in: row) else { return }
            unspeakable[key] = try StoredKey(row)
        }
        return (rows, unspeakable)
    }

    func holding(_ originalTransactionID: String) throws -> [HeldRow] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT \(Self.columns) FROM subscriptions AS s
                WHERE s.original_transaction_id = ?
                """)
        return try collect(statement, [originalTransactionID])
    }

    private func collect(
        _ statement: Statement, _ arguments: StatementArguments,
        _ look: (Row, SubscriptionKey) throws -> Void = { _, _ in }
    ) throws -> [HeldRow] {
        var found: [Found] = []
        let cursor = try Row.fetchCursor(statement, arguments: arguments)
        let first = LocalSubscription.columnCount
        while let row = try cursor.next() {
            let subscription = LocalSubscription(row)
            try look(row, subscription.key)
            found.append(
                Found(
                    row: subscription, hasPeriods: row.number(at: first) == 1,
                    hasDuplicates: row.number(at: first + 1) == 1))
        }
        return try found.map { item in
            let periods = item.hasPeriods ? try periods(of: item.row.key) : []
            return HeldRow(
                row: item.row, duplicates: item.hasDuplicates ? try duplicates(of: item.row) : [],
                periods: periods, periodsDigest: PeriodsDigest(periods))
        }
    }

    private struct Found {
        let row: LocalSubscription
        let hasPeriods: Bool
        let hasDuplicates: Bool
    }

    /// The stored periods of a subscription, by transaction id.
    func periods(of key: SubscriptionKey) throws -> [LocalTransaction] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT \(LocalTransaction.columns) FROM transactions AS t
                WHERE t.bundle_id = ? AND t.environment = ? AND t.original_transaction_id = ?
                ORDER BY t.transaction_id
                """)
        var rows: [LocalTransaction] = []
        let cursor = try Row.fetchCursor(statement, arguments: key.arguments)
        while let row = try cursor.next() { rows.append(LocalTransaction(row)) }
        return rows
    }

    private func duplicates(of row: LocalSubscription) throws -> [SubscriptionKey] {
        let key = row.key
        let statement = try db.cachedStatement(
            sql: """
                SELECT bundle_id, environment, original_transaction_id FROM subscriptions
                WHERE original_transaction_id = ? AND (bundle_id <> ? OR environment <> ?)
                UNION
                SELECT bundle_id, environment, original_transaction_id FROM subscriptions
                WHERE web_order_line_item_id = ? AND \(Self.isLineItem("web_order_line_item_id"))
                    AND bundle_id = ? AND environment = ? AND original_transaction_id <> ?
                ORDER BY bundle_id, environment, original_transaction_id
                LIMIT \(Self.duplicatesListed)
                """)
        let arguments: StatementArguments = [
            key.originalTransactionID, key.bundleID, key.environment, row.webOrderLineItemID,
            key.bundleID, key.environment, key.originalTransactionID,
        ]
        var keys: [SubscriptionKey] = []
        let cursor = try Row.fetchCursor(statement, arguments: arguments)
        while let row = try cursor.next() { keys.append(SubscriptionKey(row, at: 0)) }
        return keys
    }
}
