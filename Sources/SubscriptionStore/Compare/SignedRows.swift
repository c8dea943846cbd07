import GRDB
package import Subscriptions

/// A stored subscription with a transaction of it as Apple signed it.
package struct SignedRow: Hashable, Sendable {
    package let key: SubscriptionKey
    package let customerID: String?
    /// The transaction by which the row was corrected last; `nil` where none is held.
    package let transaction: SignedPayload?
}

extension SQLiteStore {
    /// The stored subscriptions in the order of their keys, with the signed transactions that are held.
    ///
    /// - Parameters:
    ///   - last: The key of the last row before these; `nil` for the first.
    ///   - limit: How many at most.
    /// - Returns: The rows; none after the last.
    /// - Throws: `StoreError`.
    package func signedRows(
        after last: SubscriptionKey?, limit: Int
    ) throws(StoreError) -> [SignedRow] {
        try view("reading rows and their evidence") { db in
            let rows = try db.rows(
                """
                SELECT s.bundle_id, s.environment, s.original_transaction_id, s.customer_id
                FROM subscriptions AS s
                WHERE (s.bundle_id, s.environment, s.original_transaction_id) > (?, ?, ?)
                ORDER BY s.bundle_id, s.environment, s.original_transaction_id LIMIT ?
                """, (last?.arguments ?? ["", "", ""]) + [limit])
            let newest = try db.cachedStatement(
                sql: """
                    SELECT evidence FROM trueup_ledger
                    WHERE \(SubscriptionKey.isKey)
                        AND evidence IS NOT NULL ORDER BY entry DESC LIMIT 1
                    """)
            let vault = EvidenceVault(db: db)
            return try rows.map { row in
                let key = SubscriptionKey(row, at: 0)
                let digest = try String.fetchOne(newest, arguments: key.arguments)
                return SignedRow(
                    key: key, customerID: row.text(at: 3),
                    transaction: try digest.flatMap {
                        try vault.payload(EvidenceDigest(hexadecimal: $0))
                    })
            }
        }
    }
}
