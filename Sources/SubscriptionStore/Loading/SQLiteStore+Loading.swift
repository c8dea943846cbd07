import GRDB
package import Subscriptions

/// Loading files of rows: nothing of a file with a line that is refused.
///
/// A good file is merged some hundred lines at a time, so that nobody waits for a million; a load
/// that is killed has merged a part, and loading the file again merges the rest.
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
        try loadSubscriptions(columns: columns) { add in
            try withoutActuallyEscaping(add) { add in try produce { try add($0, nil) } }
        }
    }

    /// The same for lines that do not all give the same columns.
    ///
    /// With each line comes which columns it gives, the lowest bit for the first of
    /// `SubscriptionField`; `nil` for those of the file.
    package func loadSubscriptions(
        columns: Set<SubscriptionField>,
        partly produce: (_ add: (LocalSubscription, UInt64?) throws -> LineOutcome) throws -> Void
    ) throws -> LoadCounts {
        let fields = SubscriptionField.allCases
        let keys = ["bundle_id", "environment", "original_transaction_id"]
        let table = StagedTable(
            name: "subscriptions", columns: fields.map(\.rawValue), keyColumns: keys,
            givenColumns: fields.filter(columns.contains).map(\.rawValue).filter {
                !keys.contains($0)
            },
            textColumns: Set(fields.filter { $0.form == .text }.map(\.rawValue)),
            freeColumns: Set(fields.filter { $0.definition.content == .name }.map(\.rawValue)),
            isVersioned: true)
        return try load(into: table, produce) { row, given in
            Self.arguments(fields.map { row.value(of: $0).boundValue }, given)
        }
    }

    /// Loads period rows, in the same way.
    package func loadTransactions(
        columns: Set<TransactionField>,
        _ produce: (_ add: (LocalTransaction) throws -> LineOutcome) throws -> Void
    ) throws -> LoadCounts {
        try loadTransactions(columns: columns) { add in
            try withoutActuallyEscaping(add) { add in try produce { try add($0, nil) } }
        }
    }

    /// The same for lines that do not all give the same columns; see `loadSubscriptions`.
    package func loadTransactions(
        columns: Set<TransactionField>,
        partly produce: (_ add: (LocalTransaction, UInt64?) throws -> LineOutcome) throws -> Void
    ) throws -> LoadCounts {
        let fields = TransactionField.allCases
        let keys = ["bundle_id", "environment", "transaction_id"]
        let table = StagedTable(
            name: "transactions", columns: fields.map(\.rawValue), keyColumns: keys,
            givenColumns: fields.filter(columns.contains).map(\.rawValue).filter {
                !keys.contains($0)
            },
            textColumns: Set(fields.filter { $0.form == .text }.map(\.rawValue)),
            isVersioned: false)
        return try load(into: table, produce) { row, given in
            Self.arguments(fields.map { row.value(of: $0).boundValue }, given)
        }
    }

    private static func arguments(
        _ values: [(any DatabaseValueConvertible)?], _ given: UInt64?
    ) -> StatementArguments {
        StatementArguments(values + [given.map { Int64(bitPattern: $0) }])
    }

    private func load<Line>(
        into table: StagedTable,
        _ produce: (_ add: (Line, UInt64?) throws -> LineOutcome) throws -> Void,
        _ arguments: @escaping (Line, UInt64?) -> StatementArguments
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
            var counts = LoadCounts()
            var last: StatementArguments?
            while try takeNext(of: table, after: &last, on: loading) {
                // A merge that is tried again counts once.
                counts = try blockingWrite(doing, on: loading) { [counts] db in
                    try merge(table, counted: counts, db)
                }
            }
            counts.unchanged = lines - counts.skippedAsOlder - counts.updated - counts.inserted
            return counts
        } catch let error as DatabaseError {
            throw StoreError(error, doing: doing)
        }
    }

    /// Fills the temporary table and returns how many lines it holds.
    private func stage<Line>(
        in table: StagedTable, on loading: DatabaseQueue,
        _ produce: (_ add: (Line, UInt64?) throws -> LineOutcome) throws -> Void,
        _ arguments: @escaping (Line, UInt64?) -> StatementArguments
    ) throws -> Int {
        try loading.writeWithoutTransaction { db in
            try db.execute(
                sql: "PRAGMA temp.cache_size = -\(StoreLimits.loadingCacheKibibytes)")
            db.add(function: StagedTable.shownText)
            try db.execute(sql: table.create(StagedTable.lines))
            try db.execute(sql: table.create(StagedTable.staging))
            let statement = try db.cachedStatement(sql: table.stage)
            var lines = 0
            // Deferred: only the temporary database is written, so nobody is locked out.
            try db.inTransaction(.deferred) {
                try produce { line, given in
                    statement.setUncheckedArguments(arguments(line, given))
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

    /// Puts the next lines up for a merge, in the temporary database alone; whether there are any.
    private func takeNext(
        of table: StagedTable, after last: inout StatementArguments?, on loading: DatabaseQueue
    ) throws -> Bool {
        let (found, key) = try loading.writeWithoutTransaction { [last] db in
            try db.execute(sql: "DELETE FROM \(StagedTable.staging)")
            try db.execute(
                sql: table.takeNext(afterAKey: last != nil), arguments: last ?? [])
            guard db.changesCount > 0 else { return (false, last) }
            let row = try Row.fetchOne(db, sql: table.lastKey)
            return (true, row.map { StatementArguments($0.databaseValues) })
        }
        last = key
        return found
    }

    private func merge(
        _ table: StagedTable, counted before: LoadCounts, _ db: Database
    ) throws -> LoadCounts {
        var counts = before
        counts.skippedAsOlder += try Int.fetchOne(db, sql: table.countOlder) ?? 0
        if let update = table.update {
            try db.execute(sql: update)
            counts.updated += db.changesCount
        }
        try db.execute(sql: table.insert)
        counts.inserted += db.changesCount
        return counts
    }
}

/// What became of one line of a file that is being loaded.
package enum LineOutcome: Hashable, Sendable {
    case accepted
    /// The file holds this key already; the first line counts.
    case duplicateKey
}
