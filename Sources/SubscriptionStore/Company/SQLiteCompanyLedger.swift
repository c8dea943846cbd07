import GRDB
package import Subscriptions

/// The books whose corrections stand in a ledger of the company's file.
package struct LedgerOwner: Hashable, Sendable {
    /// The identity of the books, which they keep for ever.
    package var identity: String
    /// Where they were when they took the ledger.
    package var path: String

    package init(identity: String, path: String) {
        self.identity = identity
        self.path = path
    }
}

/// Our ledger in the company's file, and whose it is.
///
/// Entries are numbered by the books that write them, so two books in one ledger would each take
/// the other's entries for their own.
extension SQLiteCompanyDatabase {
    /// The table of our ledger in the company's file.
    static let ledger = "trueup_corrections"
    /// Whose it is: the row with the greatest number says so, the others said so before.
    private static let owners = "trueup_books"

    /// Throws `.schema` where the ledger is that of other books.
    func refuseOtherBooks() throws(StoreError) {
        guard let books else { return }
        let owner = try perform("reading whose ledger is in \(path)") { db in
            try Self.owner(db)
        }
        guard let owner, owner.identity != books.identity else { return }
        throw .schema(
            "The ledger `\(Self.ledger)` in \(path) is that of other books, \(owner.path). Nothing "
                + "was read or written. Name those in `store.books`: two books would each correct "
                + "behind the other's back. Where they are lost, declare with "
                + "`trueup restored --reason TEXT` that \(books.path) takes their place.")
    }

    /// Makes the ledger where there is none, and notes whose it is.
    func makeLedger() throws(StoreError) {
        try perform("making the ledger in \(path)") { [books] db in
            if try db.tableExists(Self.ledger) {
                let columns = try db.columns(in: Self.ledger).map(\.name)
                guard columns == ["entry", "digest", "run_id", "written_at", "content"] else {
                    throw StoreError.schema(
                        "The table `\(Self.ledger)` of \(self.path) is not our ledger. Nothing was "
                            + "read or written. Rename the table.")
                }
                guard try books != nil && Self.owner(db) == nil else { return }
            }
            try db.inTransaction(.immediate) {
                try db.execute(
                    sql: """
                        CREATE TABLE IF NOT EXISTS \(Self.ledger) (
                            entry INTEGER PRIMARY KEY,
                            digest TEXT NOT NULL,
                            run_id TEXT NOT NULL,
                            written_at INTEGER NOT NULL,
                            content TEXT NOT NULL
                        )
                        """)
                if let books, try Self.owner(db) == nil {
                    try Self.note(books, db)
                }
                return .commit
            }
        }
    }

    package func adoptLedger(
        reason: String, by actor: String, at now: Timestamp
    ) throws(StoreError) -> String? {
        guard let books else { return nil }
        return try perform("declaring whose ledger is in \(path)") { db in
            var former: String?
            try db.inTransaction(.immediate) {
                guard let owner = try Self.owner(db), owner.identity != books.identity else {
                    return .rollback
                }
                former = owner.path
                try Self.note(books, reason: reason, by: actor, at: now, db)
                return .commit
            }
            return former
        }
    }

    private static func owner(_ db: Database) throws -> LedgerOwner? {
        guard try db.tableExists(owners) else { return nil }
        return try Row.fetchOne(
            db, sql: "SELECT identity, path FROM \(owners) ORDER BY number DESC LIMIT 1"
        ).map { LedgerOwner(identity: $0.requiredText(at: 0), path: $0.requiredText(at: 1)) }
    }

    private static func note(
        _ books: LedgerOwner, reason: String? = nil, by actor: String? = nil,
        at now: Timestamp? = nil, _ db: Database
    ) throws {
        try db.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS \(owners) (
                    number INTEGER PRIMARY KEY,
                    identity TEXT NOT NULL,
                    path TEXT NOT NULL,
                    declared_at INTEGER,
                    reason TEXT,
                    actor TEXT
                )
                """)
        try db.execute(
            sql: """
                INSERT INTO \(owners) (identity, path, declared_at, reason, actor)
                VALUES (?, ?, ?, ?, ?)
                """,
            arguments: [books.identity, books.path, now?.unixMilliseconds, reason, actor])
    }
}
