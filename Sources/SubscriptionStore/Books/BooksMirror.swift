import Foundation
import GRDB
package import Subscriptions
import Synchronization

/// Commits every transaction of a copy of the books on their server, before the copy commits it.
///
/// Where the copy then does not come to commit it, its generation is behind the server's: nothing
/// more is committed, and the next command makes the copy again.
package final class BooksMirror: Sendable {
    private struct Known {
        /// `nil` before a connection is watched.
        var watched: [WatchedTable]?
        /// The sequences as the server has them.
        var sequences: [[BooksValue]] = []
        /// Whether the server has committed the transaction at hand.
        var isAhead = false
        /// The reason why the cache did not commit what the server has; it can no longer be used.
        var failure: StoreError?
    }

    private let server: any BooksServer
    private let known = Mutex(Known())

    /// - Parameter server: Claimed by the caller, for as long as this lasts.
    package init(_ server: any BooksServer) { self.server = server }

    /// Begins to watch what a connection changes.
    func watch(_ connection: DatabaseQueue) throws {
        try connection.inDatabase { db in
            let watched = try WatchedTable.watch(db)
            let sequences = try Self.sequences(db)
            known.withLock { known in
                known.watched = watched
                known.sequences = sequences
            }
        }
    }

    /// Whether the server has committed what the copy has not.
    var isAhead: Bool { known.withLock(\.isAhead) }

    /// A transaction begins.
    ///
    /// - Throws: What kept the copy from committing an earlier one.
    func begin() throws {
        if let failure = known.withLock(\.failure) { throw failure }
    }

    /// The copy has committed as well.
    func settle() { known.withLock { $0.isAhead = false } }

    /// The copy did not commit what the server has: nothing more can be made from it.
    func fail(with failure: StoreError) { known.withLock { $0.failure = failure } }

    /// Commits on the server what the open transaction has changed; the copy commits when this
    /// returns.
    func commit(_ db: Database) throws {
        guard let watched = known.withLock(\.watched) else { return }
        var changes = try WatchedTable.takeChanges(of: watched, db)
        let sequences = try Self.sequences(db)
        let new = known.withLock { known in sequences.filter { !known.sequences.contains($0) } }
        if !new.isEmpty { changes.append(BooksChange(table: .sequences, rows: new)) }
        guard !changes.isEmpty else { return }
        guard let state = try BooksState.stored(in: db) else {
            throw StoreError.inconsistent(
                "The local cache of trueup's database does not say which state it has. Nothing was written."
            )
        }
        let next = try server.commit(changes, to: state)
        known.withLock { known in
            known.sequences = sequences
            known.isAhead = true
        }
        try next.store(in: db)
    }

    private static func sequences(_ db: Database) throws -> [[BooksValue]] {
        try Row.fetchAll(
            db.cachedStatement(sql: "SELECT name, seq FROM main.sqlite_sequence ORDER BY name")
        ).map { Array($0.databaseValues).map(BooksValue.init) }
    }
}

/// Which state of the books on a server a file is a copy of.
extension BooksState {
    /// `nil` for books that are in this file alone.
    static func stored(in db: Database) throws -> BooksState? {
        let statement = try db.cachedStatement(
            sql: """
                SELECT c.number, c.generation, c.transaction_name, c.schema, d.id
                FROM trueup_books_copy AS c, trueup_database AS d
                """)
        return try Row.fetchOne(statement).map { row in
            BooksState(
                number: Int(clamping: row.integer(at: 0) ?? 0),
                identity: row.requiredText(at: 4), generation: row.integer(at: 1) ?? 0,
                transaction: row.requiredText(at: 2),
                schema: Int(clamping: row.integer(at: 3) ?? 0))
        }
    }

    /// Ends the mirroring: a file that is written to alone is not a copy of anything.
    static func remove(from db: Database) throws {
        guard try db.holds("trueup_books_copy") else { return }
        try db.execute(sql: "DELETE FROM trueup_books_copy")
    }

    func store(in db: Database) throws {
        try db.executeCached(
            """
            INSERT INTO trueup_books_copy VALUES (1, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET number = excluded.number,
                generation = excluded.generation,
                transaction_name = excluded.transaction_name, schema = excluded.schema
            """, [number, generation, transaction, schema])
    }
}

/// The port to a database on a server that holds the books; a run then works on a copy of them.
///
/// All methods block. What is on the server counts: a copy that is not of its generation is made
/// again.
package protocol BooksServer: Sendable {
    /// Where the books are, for messages.
    var place: String { get }

    /// Which books are there; `nil` for none.
    func state() throws(StoreError) -> BooksState?

    /// Keeps every other machine from writing these books until `release`, or until nothing was
    /// heard of the holder for a while.
    ///
    /// - Throws: `.busy`, naming who has them.
    func claim() throws(StoreError)

    /// Lets other machines write; does nothing where another one has taken the books over.
    func release()

    /// Begins books next to those that are there; they count once `conclude` is called.
    func begin(identity: String, schema: Int) throws(StoreError) -> BooksState

    /// Puts the books that were begun in the place of those that were there.
    func conclude(_ state: BooksState) throws(StoreError)

    /// Makes the changes of one transaction, all or none, if the books are in this state.
    ///
    /// - Returns: The state that they are in then.
    /// - Throws: `.busy` where they are in another state, because another process changed them.
    func commit(_ changes: [BooksChange], to state: BooksState) throws(StoreError) -> BooksState

    /// Reads the books as they are at one moment, whatever is written meanwhile.
    func reading<Value>(_ body: (any BooksReading) throws -> Value) throws -> Value
}

/// The books on a server at one moment.
package protocol BooksReading {
    /// Which books are there; `nil` for none.
    var state: BooksState? { get }

    /// Rows of a table in the order of its key, values in the order of its columns.
    ///
    /// - Parameters:
    ///   - table: Which.
    ///   - key: Rows with greater keys; `nil` from the first on.
    ///   - limit: How many at most.
    /// - Returns: The rows.
    /// - Throws: `StoreError` where they cannot be read.
    func rows(
        of table: BooksTable, after key: [BooksValue]?, limit: Int
    ) throws(StoreError) -> [[BooksValue]]
}

/// The tables of the books that a server holds.
extension BooksTable {
    /// Not part of them: the identity, which the server has for itself; which state a copy is of; and
    /// what the next reading of the company's table makes again, because every reading writes each of
    /// its rows; and notes of rows whose entitlements are out of date, which no rows read there are.
    static let left: Set = [
        "trueup_database", "trueup_books_copy", "trueup_company_rows", "trueup_company_purchases",
        "trueup_entitlement_notes",
    ]

    /// SQLite's own table of the highest numbers that were ever given, which no trigger can watch.
    static let sequences = BooksTable(
        name: "sqlite_sequence",
        columns: [
            BooksColumn(name: "name", form: .text), BooksColumn(name: "seq", form: .integer),
        ],
        key: ["name"])

    /// All tables that a version of the schema has.
    package static func made(byVersion version: Int) throws(StoreError) -> [BooksTable] {
        do {
            return try SchemaPart.model(ofVersion: version).write { db in
                try OptionalColumns.add(SubscriptionField.optional, to: db)
                return try all(db)
            }
        } catch {
            throw StoreError(error, doing: "making the tables of schema \(version)")
        }
    }

    /// The watched tables and the sequences.
    static func all(_ db: Database) throws -> [BooksTable] { try watched(db) + [sequences] }

    /// All but the sequences, by name.
    static func watched(_ db: Database) throws -> [BooksTable] {
        let names = try String.fetchAll(
            db,
            sql: """
                SELECT name FROM main.sqlite_master
                WHERE type = 'table' AND name NOT GLOB 'sqlite_*'
                    AND (name GLOB 'trueup_*' OR name IN (
                        'subscriptions', 'transactions', 'purchases'))
                ORDER BY name
                """)
        return try names.filter { !left.contains($0) }.map { try table($0, db) }
    }

    private static func table(_ name: String, _ db: Database) throws -> BooksTable {
        var columns: [BooksColumn] = []
        var key: [(position: Int64, name: String)] = []
        for row in try Row.fetchAll(db, sql: "PRAGMA main.table_info(\(name))") {
            let column = row.requiredText(at: 1)
            guard let form = BooksColumn.Form(rawValue: row.requiredText(at: 2)) else {
                throw StoreError.inconsistent(
                    "The column \(column) of \(name) has a type that trueup's database does not use. "
                        + "Nothing was read or written. Restore a backup.")
            }
            columns.append(BooksColumn(name: column, form: form))
            if let position = row.integer(at: 5), position > 0 { key.append((position, column)) }
        }
        guard !key.isEmpty else {
            let number = BooksColumn(name: "rowid", form: .integer)
            return BooksTable(name: name, columns: [number] + columns, key: ["rowid"])
        }
        return BooksTable(
            name: name, columns: columns, key: key.sorted { $0.position < $1.position }.map(\.name))
    }
}

extension BooksValue {
    init(_ value: DatabaseValue) {
        switch value.storage {
        case .null: self = .null
        case .int64(let number): self = .integer(number)
        case .double(let number): self = .real(number)
        case .string(let text): self = .text(text)
        case .blob(let bytes): self = .blob([UInt8](bytes))
        }
    }

    var stored: DatabaseValue {
        switch self {
        case .null: .null
        case .integer(let number): number.databaseValue
        case .real(let number): number.databaseValue
        case .text(let text): text.databaseValue
        case .blob(let bytes): Data(bytes).databaseValue
        }
    }
}

/// Notes in temporary tables which rows of the books a connection changes in a transaction.
///
/// By triggers, and not by SQLite's sessions, which not every SQLite has. They belong to the
/// connection: nothing of them is in the file.
struct WatchedTable: Sendable {
    private let table: BooksTable
    /// Where the keys are noted.
    private let notes: String

    /// The rows behind the noted keys, once each: first the keys, then the rows' columns.
    private var look: String {
        let key = table.key.map { "n.\($0)" }.joined(separator: ", ")
        let columns = table.columns.map { "t.\($0.name)" }.joined(separator: ", ")
        let names = table.key.joined(separator: ", ")
        let match = table.key.map { "t.\($0) = n.\($0)" }.joined(separator: " AND ")
        return """
            SELECT \(key), \(columns) FROM (SELECT DISTINCT \(names) FROM temp.\(notes)) AS n
            LEFT JOIN main.\(table.name) AS t ON \(match)
            """
    }

    /// The statements that make its table and triggers.
    private var making: String {
        let names = table.key.joined(separator: ", ")
        let new = table.key.map { "NEW.\($0)" }.joined(separator: ", ")
        let old = table.key.map { "OLD.\($0)" }.joined(separator: ", ")
        let moves = table.key.map { "OLD.\($0) IS NOT NEW.\($0)" }.joined(separator: " OR ")
        return """
            CREATE TEMP TABLE \(notes) (\(names));
            CREATE TEMP TRIGGER \(notes)_insert AFTER INSERT ON main.\(table.name)
            BEGIN INSERT INTO \(notes) VALUES (\(new)); END;
            CREATE TEMP TRIGGER \(notes)_update AFTER UPDATE ON main.\(table.name)
            BEGIN INSERT INTO \(notes) VALUES (\(new)); END;
            CREATE TEMP TRIGGER \(notes)_move AFTER UPDATE ON main.\(table.name)
            WHEN \(moves)
            BEGIN INSERT INTO \(notes) VALUES (\(old)); END;
            CREATE TEMP TRIGGER \(notes)_delete AFTER DELETE ON main.\(table.name)
            BEGIN INSERT INTO \(notes) VALUES (\(old)); END;
            """
    }

    /// Begins to watch what a connection changes.
    static func watch(_ db: Database) throws -> [WatchedTable] {
        let watched = try BooksTable.watched(db).enumerated().map { index, table in
            WatchedTable(table: table, notes: "trueup_changed_\(index)")
        }
        for watched in watched { try db.execute(sql: watched.making) }
        return watched
    }

    /// Returns the changes since the last call, with the present values; called within the
    /// transaction that made them.
    static func takeChanges(
        of watched: [WatchedTable], _ db: Database
    ) throws -> [BooksChange] {
        let touched = watched.enumerated().map { index, watched in
            "SELECT \(index) WHERE EXISTS (SELECT 1 FROM temp.\(watched.notes))"
        }
        let indices = try Int.fetchAll(
            db.cachedStatement(sql: touched.joined(separator: " UNION ALL ")))
        var changes: [BooksChange] = []
        for watched in indices.map({ watched[$0] }) {
            var change = BooksChange(table: watched.table)
            let keys = watched.table.key.count
            // A key column of a row that is there is never NULL.
            let first = watched.table.columns.firstIndex { $0.name == watched.table.key[0] } ?? 0
            let rows = try Row.fetchCursor(db.cachedStatement(sql: watched.look))
            while let row = try rows.next() {
                let values = Array(row.databaseValues).map(BooksValue.init)
                if values[keys + first] == .null {
                    change.deleted.append(Array(values[..<keys]))
                } else {
                    change.rows.append(Array(values[keys...]))
                }
            }
            try db.executeCached("DELETE FROM temp.\(watched.notes)")
            changes.append(change)
        }
        return changes
    }
}
