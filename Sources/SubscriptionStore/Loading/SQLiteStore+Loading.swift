import GRDB
package import Subscriptions

/// Loading files of rows: all of a file or nothing.
extension SQLiteStore {
    /// Loads subscription rows.
    ///
    /// - Parameters:
    ///   - columns: The columns that the file has; the others stay as they are on existing rows.
    ///   - produce: Hands over the lines; if it throws, nothing is loaded and the error passes.
    /// - Returns: How many lines changed what.
    /// - Throws: `StoreError`, or what `produce` throws.
    package func loadSubscriptions(
        columns: Set<SubscriptionField>,
        _ produce: (_ add: (LocalSubscription) throws -> LineOutcome) throws -> Void
    ) throws -> LoadCounts {
        let fields = SubscriptionField.allCases
        let keys = ["bundle_id", "environment", "original_transaction_id"]
        let table = StagedTable(
            name: "subscriptions", columns: fields.map(\.rawValue), keyColumns: keys,
            givenColumns: fields.filter(columns.contains).map(\.rawValue).filter {
                !keys.contains($0)
            },
            isVersioned: true)
        return try load(into: table, produce) { row in
            StatementArguments(fields.map { row.value(of: $0).boundValue })
        }
    }

    /// Loads period rows, in the same way.
    package func loadTransactions(
        columns: Set<TransactionField>,
        _ produce: (_ add: (LocalTransaction) throws -> LineOutcome) throws -> Void
    ) throws -> LoadCounts {
        let fields = TransactionField.allCases
        let keys = ["bundle_id", "environment", "transaction_id"]
        let table = StagedTable(
            name: "transactions", columns: fields.map(\.rawValue), keyColumns: keys,
            givenColumns: fields.filter(columns.contains).map(\.rawValue).filter {
                !keys.contains($0)
            },
            isVersioned: false)
        return try load(into: table, produce) { row in
            StatementArguments(fields.map { row.value(of: $0).boundValue })
        }
    }

    private func load<Line>(
        into table: StagedTable,
        _ produce: (_ add: (Line) throws -> LineOutcome) throws -> Void,
        _ arguments: @escaping (Line) -> StatementArguments
    ) throws -> LoadCounts {
        let doing = "loading rows into the table `\(table.name)`"
        guard access == .readWrite else {
            throw StoreError.inconsistent(
                "A command that only reads tried to write while \(doing).")
        }
        do {
            let loading = try file.connectToWrite(
                cacheKibibytes: StoreLimits.loadingCacheKibibytes)
            defer { try? loading.close() }
            let lines = try stage(in: table, on: loading, produce, arguments)
            return try blockingWrite(doing, on: loading) { db in
                try merge(table, lines: lines, db)
            }
        } catch let error as DatabaseError {
            throw StoreError(error, doing: doing)
        }
    }

    /// Fills the temporary table and returns how many lines it holds.
    private func stage<Line>(
        in table: StagedTable, on loading: DatabaseQueue,
        _ produce: (_ add: (Line) throws -> LineOutcome) throws -> Void,
        _ arguments: @escaping (Line) -> StatementArguments
    ) throws -> Int {
        try loading.writeWithoutTransaction { db in
            try db.execute(
                sql: "PRAGMA temp.cache_size = -\(StoreLimits.loadingCacheKibibytes)")
            try db.execute(sql: table.create)
            let statement = try db.cachedStatement(sql: table.stage)
            var lines = 0
            // Deferred: only the temporary database is written, so nobody is locked out.
            try db.inTransaction(.deferred) {
                try produce { line in
                    statement.setUncheckedArguments(arguments(line))
                    try statement.execute()
                    guard db.changesCount > 0 else { return .duplicateKey }
                    lines += 1
                    return .accepted
                }
                return .commit
            }
            return lines
        }
    }

    private func merge(_ table: StagedTable, lines: Int, _ db: Database) throws -> LoadCounts {
        var counts = LoadCounts()
        counts.skippedAsOlder = try Int.fetchOne(db, sql: table.countOlder) ?? 0
        let suspended = try SuspendedSchema(of: table, lines: lines, db)
        if let update = table.update {
            try db.execute(sql: update)
            counts.updated = db.changesCount
        }
        try db.execute(sql: table.insert)
        counts.inserted = db.changesCount
        try suspended.restore(db)
        counts.unchanged = lines - counts.skippedAsOlder - counts.updated - counts.inserted
        return counts
    }
}
