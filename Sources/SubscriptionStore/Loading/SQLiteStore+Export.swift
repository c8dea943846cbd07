import GRDB
package import Subscriptions

/// Streaming of the stored rows in key order, at constant memory.
extension SQLiteStore {
    /// Hands over every subscription row; errors of `body` pass through unchanged.
    package func forEachSubscription(_ body: (LocalSubscription) throws -> Void) throws {
        try stream("reading the subscription rows") { db in
            let rows = try Row.fetchCursor(
                db,
                sql: """
                    SELECT \(LocalSubscription.columns) FROM subscriptions AS s
                    ORDER BY s.bundle_id, s.environment, s.original_transaction_id
                    """)
            while let row = try rows.next() { try body(LocalSubscription(row)) }
        }
    }

    /// Hands over every period row; errors of `body` pass through unchanged.
    package func forEachTransaction(_ body: (LocalTransaction) throws -> Void) throws {
        try stream("reading the transaction rows") { db in
            let rows = try Row.fetchCursor(
                db,
                sql: """
                    SELECT \(LocalTransaction.columns) FROM transactions AS t
                    ORDER BY t.bundle_id, t.environment, t.transaction_id
                    """)
            while let row = try rows.next() { try body(LocalTransaction(row)) }
        }
    }
}
