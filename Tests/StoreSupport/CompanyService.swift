package import GRDB
package import Subscriptions

/// What the company's services do to a store's tables, over a connection of their own.
package struct CompanyService: Sendable {
    package let connection: DatabaseQueue
    /// What is done at the end of each transaction.
    private let finish: @Sendable (Database) throws -> Void

    package init(
        at path: String, finish: @escaping @Sendable (Database) throws -> Void = { _ in }
    ) throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        connection = try DatabaseQueue(path: path, configuration: configuration)
        self.finish = finish
    }

    package func write(_ body: (Database) throws -> Void) throws {
        try connection.write { db in
            try body(db)
            try finish(db)
        }
    }

    /// Writes rows in one transaction.
    package func hold(_ rows: [LocalSubscription]) throws {
        let fields = SubscriptionField.stored
        try write { db in
            for row in rows {
                try upsert(
                    "subscriptions", fields.map { ($0.rawValue, row.storedValue(of: $0)) }, db)
            }
        }
    }

    /// Writes a period.
    package func hold(_ period: LocalTransaction) throws {
        let fields = TransactionField.ofPeriods
        try write { db in
            try upsert(
                "transactions", fields.map { ($0.rawValue, period.storedValue(of: $0)) }, db)
        }
    }

    /// The key is told by its columns: of a row that stands only the others are written.
    private func upsert(_ table: String, _ values: [(String, FieldValue)], _ db: Database) throws {
        let keys: Set = [
            "bundle_id", "environment",
            table == "transactions" ? "transaction_id" : "original_transaction_id",
        ]
        let names = values.map(\.0).joined(separator: ", ")
        let marks = values.map { _ in "?" }.joined(separator: ", ")
        let stored: [(any DatabaseValueConvertible)?] = values.map { Self.stored($0.1) }
        let others = values.map(\.0).filter { !keys.contains($0) }
            .map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
        try db.cachedStatement(
            sql: """
                INSERT INTO \(table) (\(names)) VALUES (\(marks))
                ON CONFLICT (\(keys.sorted().joined(separator: ", "))) DO UPDATE SET \(others)
                """
        ).execute(arguments: StatementArguments(stored))
    }

    private static func stored(_ value: FieldValue) -> (any DatabaseValueConvertible)? {
        switch value {
        case .null: nil
        case .text(let text): text
        case .integer(let number): number
        case .time(let time): time.unixMilliseconds
        }
    }

    /// Deletes a row.
    package func remove(_ key: SubscriptionKey) throws {
        try write { db in
            try db.execute(
                sql: """
                    DELETE FROM subscriptions
                    WHERE bundle_id = ? AND environment = ? AND original_transaction_id = ?
                    """,
                arguments: [key.bundleID, key.environment, key.originalTransactionID])
        }
    }

    /// Puts an event of each of these subscriptions into the outbox, in the ledger's order.
    package func hold(eventsOf subscriptions: [String], at now: Timestamp) throws {
        try write { db in
            for (index, id) in subscriptions.enumerated() {
                try db.execute(
                    sql: """
                        INSERT INTO trueup_outbox (
                            ledger_entry, idempotency_key, event, bundle_id, environment,
                            original_transaction_id, body, next_attempt_at)
                        VALUES (?, ?, 'renewal', 'app', 'Production', ?, ?, ?)
                        """,
                    arguments: [
                        index + 1, "key \(index + 1)", id, "{\"ledger_entry\":\(index + 1)}",
                        now.unixMilliseconds,
                    ])
            }
        }
    }
}
