import GRDB
package import Subscriptions

/// The company's rows as a run reads them.
extension SQLiteStore {
    package func rows(
        after key: SubscriptionKey?, limit: Int
    ) async throws(StoreError) -> [HeldRow] {
        let position: StoredKey? =
            if let key { await unspeakableKeys.stored(as: key) } else { nil }
        let page = try await read("reading rows to judge") { db in
            try HeldRows(db: db).page(after: position, limit: limit)
        }
        if !page.unspeakable.isEmpty { await unspeakableKeys.add(page.unspeakable) }
        return page.rows
    }

    package func rowsByApp() async throws(StoreError) -> [AppRows] {
        try await read("counting the rows of each app") { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT bundle_id, environment, count(*) FROM subscriptions
                    GROUP BY bundle_id, environment ORDER BY bundle_id, environment
                    """
            ).map { row in
                AppRows(
                    bundleID: row.requiredText(at: 0), environment: row.requiredText(at: 1),
                    rows: row.number(at: 2) ?? 0)
            }
        }
    }

    package func rows(
        holding originalTransactionIDs: [String]
    ) async throws(StoreError) -> [HeldRow] {
        try await read("reading rows by original transaction id") { db in
            let rows = HeldRows(db: db)
            return try Set(originalTransactionIDs).flatMap(rows.holding)
                .sorted { $0.row.key < $1.row.key }
        }
    }

    /// The stored id of one subscription that Apple is known to have answered about, or any.
    package func someOriginalTransactionID(
        of app: AppIdentity
    ) async throws(StoreError) -> String? {
        try await read("looking for a stored id") { db in
            try String.fetchOne(
                db,
                sql: """
                    SELECT original_transaction_id FROM subscriptions
                    WHERE bundle_id = ? AND environment = ?
                    ORDER BY status IS NULL, original_transaction_id LIMIT 1
                    """, arguments: [app.bundleID, app.environment.rawValue])
        }
    }
}

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

    /// The columns of the subscription rows that an export names: those of the table's first schema, and
    /// of the others what any row holds.
    ///
    /// So a file of a table that makes no use of the others stays as its readers know it.
    package func columnsInUse() throws -> [SubscriptionField] {
        try stream("looking for the columns in use") { db in
            try SubscriptionField.allCases.filter { field in
                guard SubscriptionField.stored.contains(field) else {
                    return try OtherPayments.areHeld(db)
                }
                return try field.definition.since == nil
                    || Bool.fetchOne(
                        db,
                        sql: """
                            SELECT EXISTS (SELECT 1 FROM subscriptions
                                WHERE nullif(\(field.rawValue), '') IS NOT NULL)
                            """) == true
            }
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
