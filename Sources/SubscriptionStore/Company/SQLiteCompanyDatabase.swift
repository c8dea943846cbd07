import Foundation
import GRDB
package import Subscriptions

/// The company's own table in an SQLite file of its own.
///
/// Its journal mode and everything else of the file stay as they are; only mapped columns and our
/// ledger `trueup_corrections` are written.
package final class SQLiteCompanyDatabase: CompanyDatabase {
    let path: String
    let mapping: TableMapping
    /// The books that correct it; `nil` for a look that takes no side.
    let books: LedgerOwner?
    let statements: MappedStatements
    let connection: DatabaseQueue

    /// Opens a file that exists.
    ///
    /// - Parameters:
    ///   - path: The company's file.
    ///   - mapping: How its table is read.
    ///   - books: The books that correct it; `nil` for a look that takes no side.
    /// - Throws: `.unavailable` where there is no such file, `.schema` where it is no database.
    package init(
        path: String, mapping: TableMapping, books: LedgerOwner? = nil
    ) throws(StoreError) {
        self.path = path
        self.books = books
        self.mapping = mapping
        statements = MappedStatements(mapping, for: .sqlite)
        connection = try Self.connect(path)
    }

    static func connect(_ path: String) throws(StoreError) -> DatabaseQueue {
        guard DatabaseFile(path: path).exists else {
            throw .unavailable(
                "There is no file \(path) with your table. Nothing was read or written. Correct "
                    + "`store.url`.")
        }
        var configuration = Configuration()
        configuration.label = "trueup.company"
        configuration.foreignKeysEnabled = true
        configuration.busyMode = .timeout(StoreLimits.busyTimeoutSeconds)
        // A transaction goes over several calls of the port.
        configuration.allowsUnsafeTransactions = true
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA cache_size = -\(StoreLimits.cacheKibibytes)")
            try db.execute(sql: "PRAGMA synchronous = FULL")
        }
        do {
            return try DatabaseQueue(path: path, configuration: configuration)
        } catch {
            throw StoreError(error, doing: "opening \(path)")
        }
    }

    func perform<Value>(
        _ doing: String, _ body: (Database) throws -> Value
    ) throws(StoreError) -> Value {
        do {
            return try connection.inDatabase(body)
        } catch {
            throw StoreError(error, doing: doing)
        }
    }
}

extension SQLiteCompanyDatabase {
    package func rows(
        after cursor: CompanyCursor?, limit: Int, of apps: [AppIdentity]? = nil
    ) throws(StoreError) -> CompanyPage {
        let statement = statements.page(after: cursor, limit: limit &+ 1, of: apps)
        let found = try perform("reading the table \(mapping.table)") { db in
            try Self.texts(statement, db)
        }
        return CompanyPage(of: found, limit: limit, by: statements)
    }

    package func keylessRows(
        of apps: [AppIdentity]? = nil
    ) throws(StoreError) -> KeylessRows {
        guard let statement = statements.keyless(of: apps) else { return KeylessRows() }
        return statements.keyless(
            of: try perform("counting rows without a key in \(mapping.table)") { db in
                try Self.texts(statement, db).first
            })
    }

    package func row(_ key: SubscriptionKey) throws(StoreError) -> CompanyRow? {
        guard let statement = statements.row(key) else { return nil }
        return try perform("reading a row of \(mapping.table)") { db in
            try Self.texts(statement, db).first
        }.map(mapping.row)
    }

    package func apps(besides apps: [AppIdentity]) throws(StoreError) -> [[String?]] {
        guard let statement = statements.apps(besides: apps) else { return [] }
        return try perform("looking for the apps of \(mapping.table)") { db in
            try Self.texts(statement, db)
        }
    }

    package func rows(
        holding id: String, in apps: [[String?]]
    ) throws(StoreError) -> [CompanyRow] {
        guard let statement = statements.rows(holding: id, in: apps) else { return [] }
        return try perform("looking for rows of a subscription in \(mapping.table)") { db in
            try Self.texts(statement, db)
        }.map(mapping.row)
    }

    package func begin() throws(StoreError) {
        try perform("beginning to write to \(mapping.table)") { db in
            try db.beginTransaction(.immediate)
        }
    }

    package func write(_ change: CompanyChange) throws(StoreError) -> CompanyWriteFate {
        try perform("changing a row of \(mapping.table)") { db in
            var fate = CompanyWriteFate.stale
            do {
                try db.inSavepoint {
                    fate = try make(change, db)
                    return fate.isApplied ? .commit : .rollback
                }
            } catch let refused as RowRefused {
                // A trigger may take more back than what it refuses.
                return db.isInsideTransaction ? .refused(refused.reason) : .undone(refused.reason)
            }
            return fate
        }
    }

    private func make(_ change: CompanyChange, _ db: Database) throws -> CompanyWriteFate {
        guard let read = statements.row(change.key) else {
            return .refused("the key is not one that the mapping's constants allow")
        }
        let standing = try Self.texts(read, db)
        guard standing.count < 2 else { return .refused("several rows have its key") }
        switch statements.write(change, standing: standing.first) {
        case .stale: return .stale
        case .refused(let why): return .refused(why)
        case .nothing:
            return .applied(version: standing.first.flatMap { mapping.row(of: $0).version })
        case .execute(let statement):
            if let look = statements.rowOfTransaction(change), try !Self.texts(look, db).isEmpty {
                return .refused(MappedStatements.transactionIsThere)
            }
            try execute(statement, db)
            return statements.fate(
                of: change, affected: db.changesCount, from: standing.first,
                to: try Self.texts(read, db))
        }
    }

    /// Whatever is wrong with this one statement is about its row: those that read it were well.
    private func execute(_ statement: MappedStatement, _ db: Database) throws {
        do {
            try db.cachedStatement(sql: statement.sql)
                .execute(arguments: StatementArguments(statement.arguments.map(\.bound)))
        } catch let error as DatabaseError where Self.isOfOneRow(error) {
            throw RowRefused(reason: error.message ?? "an error of SQLite")
        }
    }

    /// A trigger's function or table may be missing, as those of a service's own session are here.
    private static func isOfOneRow(_ error: DatabaseError) -> Bool {
        [.SQLITE_CONSTRAINT, .SQLITE_ERROR, .SQLITE_MISMATCH, .SQLITE_TOOBIG]
            .contains(error.resultCode)
    }

    /// The company's database refuses one change.
    private struct RowRefused: Error {
        let reason: String
    }

    package func append(_ entry: CompanyLedgerEntry) throws(StoreError) {
        try perform("writing to the ledger beside \(mapping.table)") { db in
            try db.cachedStatement(
                sql: "INSERT INTO \(Self.ledger) VALUES (?, ?, ?, ?, ?)"
            ).execute(
                arguments: [
                    entry.number, entry.digest, entry.run, entry.writtenAt.unixMilliseconds,
                    entry.content,
                ])
        }
    }

    package func commit() throws(StoreError) -> CommitOutcome {
        try perform("committing to \(path)") { db in
            do {
                try db.commit()
                return .committed
            } catch {
                // SQLite keeps a transaction open that others or a deferred constraint kept from its end.
                if db.isInsideTransaction { try? db.rollback() }
                guard let error = error as? DatabaseError,
                    error.resultCode == .SQLITE_CONSTRAINT
                else { throw error }
                return .refused(error.message ?? "a constraint")
            }
        }
    }

    package func rollBack() {
        try? connection.inDatabase { db in
            if db.isInsideTransaction { try db.rollback() }
        }
    }

    package func entries(
        after number: Int64, limit: Int
    ) throws(StoreError) -> [CompanyLedgerEntry] {
        try perform("reading the ledger beside \(mapping.table)") { db in
            guard try db.tableExists(Self.ledger) else { return [] }
            return try Row.fetchAll(
                db,
                sql: """
                    SELECT entry, digest, run_id, content, written_at FROM \(Self.ledger)
                    WHERE entry > ? ORDER BY entry LIMIT ?
                    """,
                arguments: [number, limit]
            ).map { row in
                CompanyLedgerEntry(
                    number: row.integer(at: 0) ?? 0, digest: row.requiredText(at: 1),
                    run: row.requiredText(at: 2), content: row.requiredText(at: 3),
                    writtenAt: row.time(at: 4) ?? Timestamp(unixMilliseconds: 0))
            }
        }
    }

    private static func texts(
        _ statement: MappedStatement, _ db: Database
    ) throws -> [[String?]] {
        let rows = try Row.fetchCursor(
            db.cachedStatement(sql: statement.sql),
            arguments: StatementArguments(statement.arguments.map(\.bound)))
        var found: [[String?]] = []
        while let row = try rows.next() {
            found.append((0..<row.count).map { row.text(at: $0) })
        }
        return found
    }
}

extension CompanyWriteFate {
    var isApplied: Bool {
        if case .applied = self { true } else { false }
    }
}

extension CompanyLiteral {
    /// As it is bound to a statement of SQLite.
    fileprivate var bound: (any DatabaseValueConvertible)? {
        switch self {
        case .null: nil
        case .text(let text): text
        case .integer(let number): number
        case .boolean(let truth): truth ? 1 : 0
        }
    }
}
