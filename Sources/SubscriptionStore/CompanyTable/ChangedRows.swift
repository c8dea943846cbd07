import GRDB
package import Subscriptions

/// The last ledger entry that an export of changes has written out.
package struct ExportCursor: Hashable, Sendable {
    /// The identity of trueup's database.
    package var database: String
    /// The entry's number; 0 before the first.
    package var entry: Int64
    /// The entry's hash.
    package var hash: String

    package init(database: String, entry: Int64, hash: String) {
        self.database = database
        self.entry = entry
        self.hash = hash
    }
}

/// The place at which an export of changes begins.
package enum ExportStart: Hashable, Sendable {
    /// With all rows.
    case allRows
    /// With what the run of this number changed.
    case run(Int64)
    /// Behind what an earlier export wrote out.
    case cursor(ExportCursor)
}

/// The newest correction of a row.
package struct LastChange: Hashable, Sendable {
    /// `delete` where the row is gone now, and only there.
    package var action: RowAction
    package var entry: Int64
    package var runID: String
    package var writtenAt: Timestamp
}

/// The outcome of an export of changes.
package struct ExportEnd: Hashable, Sendable {
    package var rows: Int64 = 0
    /// The place that it reached.
    package var cursor: ExportCursor
    /// Whether all rows were written, because the ledger no longer has the cursor's entry.
    package var beganAgain = false
}

extension SQLiteStore {
    /// Hands over the subscriptions that were changed, in the order of their newest corrections.
    ///
    /// One consistent view: the cursor that is returned is of the rows that were handed over.
    ///
    /// - Parameters:
    ///   - start: Where to begin.
    ///   - body: Takes each row once as it is now, without values besides its key where it is
    ///     gone; and the last correction of it, `nil` in an export of all rows.
    /// - Returns: How many rows there were, and up to where.
    /// - Throws: An error of the database or of `body`.
    package func forEachChangedSubscription(
        from start: ExportStart, _ body: (LocalSubscription, LastChange?) throws -> Void
    ) throws -> ExportEnd {
        try stream("reading the changed rows") { db in
            try ChangedRows(db: db, table: .subscriptions).forEach(
                from: start, columns: try LocalSubscription.columns(db),
                count: LocalSubscription.columnCount,
                gone: { key, _ in LocalSubscription(key: key) }, LocalSubscription.init, body)
        }
    }

    /// Hands over the periods or one-time purchases that were changed, as
    /// `forEachChangedSubscription` does.
    package func forEachChangedTransaction(
        of table: TransactionTable, from start: ExportStart,
        _ body: (LocalTransaction, LastChange?) throws -> Void
    ) throws -> ExportEnd {
        try stream("reading the changed rows") { db in
            try ChangedRows(db: db, table: table == .periods ? .transactions : .purchases).forEach(
                from: start, columns: LocalTransaction.columns(of: table),
                count: table.fields.count,
                gone: { key, transactionID in
                    LocalTransaction(
                        key: TransactionKey(
                            bundleID: key.bundleID, environment: key.environment,
                            transactionID: transactionID),
                        originalTransactionID: key.originalTransactionID)
                },
                { LocalTransaction($0, of: table) }, body)
        }
    }
}

/// The rows of one table that ledger entries from some place on are about.
private struct ChangedRows {
    let db: Database
    let table: ChangeSet.Table

    private var alias: String { table == .subscriptions ? "s" : "t" }
    private var identity: String {
        table == .subscriptions ? "original_transaction_id" : "transaction_id"
    }

    func forEach<Record>(
        from start: ExportStart, columns: String, count: Int,
        gone: (SubscriptionKey, String) -> Record, _ record: (Row) -> Record,
        _ body: (Record, LastChange?) throws -> Void
    ) throws -> ExportEnd {
        let head = try Ledger(db: db).head()
        let database = try SQLiteStore.databaseIdentity(db)
        var end = ExportEnd(
            cursor: ExportCursor(database: database, entry: head.number, hash: head.hash))
        guard let last = try lastEntry(before: start, head: head.number, of: database) else {
            end.beganAgain = start != .allRows
            try db.forEachRow(
                """
                SELECT \(columns) FROM \(table.rawValue) AS \(alias)
                ORDER BY \(alias).bundle_id, \(alias).environment, \(alias).\(identity)
                """
            ) { row in
                end.rows += 1
                try body(record(row), nil)
            }
            return end
        }
        try db.forEachRow(changed(columns), [last, table.rawValue]) { row in
            end.rows += 1
            let isThere = row.integer(at: count + 4) == 1
            // The company may have deleted the row since, or stored it again.
            var action = row.text(at: count + 2).flatMap(RowAction.init) ?? .update
            if !isThere { action = .delete } else if action == .delete { action = .update }
            try body(
                isThere
                    ? record(row)
                    : gone(SubscriptionKey(row, at: count + 5), row.text(at: count + 8) ?? ""),
                LastChange(
                    action: action, entry: row.integer(at: count) ?? 0,
                    runID: row.requiredText(at: count + 1),
                    writtenAt: row.requiredTime(at: count + 3)))
        }
        return end
    }

    private func changed(_ columns: String) -> String {
        """
        SELECT \(columns), l.entry, l.run_id, l.action, l.written_at, \(alias).bundle_id IS NOT NULL,
            l.bundle_id, l.environment, l.original_transaction_id, l.transaction_id
        FROM (
            SELECT max(entry) AS entry FROM trueup_ledger WHERE entry > ? AND target_table = ?
            GROUP BY bundle_id, environment, original_transaction_id, transaction_id
        ) AS n
        JOIN trueup_ledger AS l ON l.entry = n.entry
        LEFT JOIN \(table.rawValue) AS \(alias) ON \(alias).bundle_id = l.bundle_id
            AND \(alias).environment = l.environment AND \(alias).\(identity) = l.\(identity)
        ORDER BY l.entry
        """
    }

    /// The last entry that is not wanted; `nil` where all rows are.
    private func lastEntry(
        before start: ExportStart, head: Int64, of database: String
    ) throws -> Int64? {
        switch start {
        case .allRows: return nil
        case .cursor(let cursor):
            guard cursor.database == database else { return nil }
            guard cursor.entry > 0 else { return cursor.entry == 0 ? 0 : nil }
            let hash = try db.text("SELECT hash FROM trueup_ledger WHERE entry = ?", [cursor.entry])
            return hash == cursor.hash ? cursor.entry : nil
        case .run(let number):
            let first = try db.integer(
                """
                SELECT min((SELECT min(entry) FROM trueup_ledger WHERE run_id = r.run_id))
                FROM trueup_runs AS r WHERE r.run_seq >= ?
                """, [number])
            return first.map { $0 - 1 } ?? head
        }
    }
}
