import GRDB
import Subscriptions

/// Statements that each connection prepares once.
extension Database {
    /// Runs a statement that reads nothing.
    func run(_ sql: String, _ arguments: StatementArguments = StatementArguments()) throws {
        try cachedStatement(sql: sql).execute(arguments: arguments)
    }

    /// Whether there are such rows, named as after `FROM`.
    func holds(
        _ rows: String, _ arguments: StatementArguments = StatementArguments()
    ) throws -> Bool {
        try Bool.fetchOne(
            cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM \(rows))"), arguments: arguments)
            ?? false
    }

    /// How many such rows there are, named as after `FROM`.
    func count(
        _ rows: String, _ arguments: StatementArguments = StatementArguments()
    ) throws -> Int {
        try Int.fetchOne(
            cachedStatement(sql: "SELECT count(*) FROM \(rows)"), arguments: arguments) ?? 0
    }
}

extension TransactionKey {
    /// A condition: a row is the transaction that `arguments` name.
    static let isGiven = "bundle_id = ? AND environment = ? AND transaction_id = ?"

    /// The key in the order of the primary key, to bind.
    var arguments: StatementArguments { [bundleID, environment, transactionID] }
}

extension SubscriptionKey {
    /// A condition: a row is of the subscription that `arguments` name.
    static let isGiven = "bundle_id = ? AND environment = ? AND original_transaction_id = ?"

    /// Returns the key of a transaction in the subscription's app.
    func transaction(_ id: String) -> TransactionKey {
        TransactionKey(bundleID: bundleID, environment: environment, transactionID: id)
    }

    /// Returns the condition that rows of two tables, by their names in a query, are of one
    /// subscription.
    static func agree(_ left: String, _ right: String) -> String {
        """
        \(left).bundle_id = \(right).bundle_id AND \(left).environment = \(right).environment
            AND \(left).original_transaction_id = \(right).original_transaction_id
        """
    }
}
