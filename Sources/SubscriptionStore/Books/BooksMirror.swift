import GRDB
import Subscriptions
import Synchronization

/// Commits every transaction of a copy of the books on their server, before the copy commits it.
///
/// Where the copy then does not come to commit it, its generation is behind the server's: nothing
/// more is committed, and the next command makes the copy anew.
package final class BooksMirror: Sendable {
    private struct Known {
        var capture: ChangeCapture?
        /// The sequences as the server has them.
        var sequences: [[BooksValue]] = []
        /// Whether the server has committed the transaction at hand.
        var isAhead = false
        /// Why the copy did not commit what the server has: it is of no use any more.
        var failure: StoreError?
    }

    private let server: any BooksServer
    private let known = Mutex(Known())

    /// - Parameter server: Claimed by the caller, for as long as this lasts.
    package init(_ server: any BooksServer) { self.server = server }

    /// Begins to watch what a connection changes.
    func watch(_ connection: DatabaseQueue) throws {
        try connection.inDatabase { db in
            let capture = try ChangeCapture(db)
            let sequences = try Self.sequences(db)
            known.withLock { known in
                known.capture = capture
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

    /// The copy has committed, too.
    func settle() { known.withLock { $0.isAhead = false } }

    /// The copy did not commit what the server has: nothing more can be made from it.
    func fail(with failure: StoreError) { known.withLock { $0.failure = failure } }

    /// Commits on the server what the open transaction has changed; the copy commits when this returns.
    func commit(_ db: Database) throws {
        guard let capture = known.withLock(\.capture) else { return }
        var changes = try capture.takeChanges(db)
        let sequences = try Self.sequences(db)
        let new = known.withLock { known in sequences.filter { !known.sequences.contains($0) } }
        if !new.isEmpty { changes.append(BooksChange(table: BooksTables.sequences, rows: new)) }
        guard !changes.isEmpty else { return }
        guard let state = try CopyMark(db).state else {
            throw StoreError.inconsistent(
                "The copy of the books does not say which state it is of; nothing was written.")
        }
        let next = try server.commit(changes, to: state)
        known.withLock { known in
            known.sequences = sequences
            known.isAhead = true
        }
        try CopyMark(db).set(next)
    }

    private static func sequences(_ db: Database) throws -> [[BooksValue]] {
        try Row.fetchAll(
            db.cachedStatement(sql: "SELECT name, seq FROM main.sqlite_sequence ORDER BY name")
        ).map { Array($0.databaseValues).map(BooksValue.init) }
    }
}

/// Which state of the books on a server a file is a copy of.
struct CopyMark {
    private let db: Database

    init(_ db: Database) { self.db = db }

    /// `nil` for books that stand in this file alone.
    var state: BooksState? {
        get throws {
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
    }

    /// What is written to the file alone makes it a copy of nothing.
    func remove() throws {
        guard try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM trueup_books_copy)") == true
        else { return }
        try db.execute(sql: "DELETE FROM trueup_books_copy")
    }

    func set(_ state: BooksState) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO trueup_books_copy VALUES (1, ?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET number = excluded.number,
                    generation = excluded.generation,
                    transaction_name = excluded.transaction_name, schema = excluded.schema
                """
        ).execute(
            arguments: [state.number, state.generation, state.transaction, state.schema])
    }
}
