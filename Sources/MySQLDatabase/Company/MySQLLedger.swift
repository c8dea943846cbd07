import ServerConnections
package import Subscriptions

/// Our ledger next to the company's table, and whose it is.
///
/// Entries are numbered by the books that write them, so that two books in one ledger would each
/// take the other's entries for their own: it belongs to one.
enum MySQLLedger {
    static let entries = "trueup_corrections"
    /// Whose it is: the row with the greatest number says so, the others said so before.
    static let owners = "trueup_books"

    /// Each is a transaction of its own: in MySQL it would end one that is open.
    static let definitions = [
        """
        CREATE TABLE IF NOT EXISTS \(entries) (
            entry BIGINT NOT NULL PRIMARY KEY,
            digest VARCHAR(128) NOT NULL,
            run_id VARCHAR(255) NOT NULL,
            written_at BIGINT NOT NULL,
            content LONGTEXT NOT NULL
        ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        """,
        """
        CREATE TABLE IF NOT EXISTS \(owners) (
            number BIGINT NOT NULL PRIMARY KEY,
            identity VARCHAR(255) NOT NULL,
            path TEXT NOT NULL,
            declared_at BIGINT,
            reason TEXT,
            actor TEXT
        ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        """,
    ]

    /// Whether a failure says that there is no such table yet.
    static func isMissing(_ failure: MySQLFailure) -> Bool { failure.number == 1146 }
}

extension MySQLServer {
    package func insertion(of entries: [CompanyLedgerEntry]) -> MappedStatement {
        let marks = entries.map { _ in "(?, ?, ?, ?, ?)" }.joined(separator: ", ")
        return MappedStatement(
            sql: "INSERT INTO \(MySQLLedger.entries) (entry, digest, run_id, written_at, content) "
                + "VALUES \(marks)",
            arguments: entries.flatMap { entry -> [CompanyLiteral] in
                [
                    .integer(entry.number), .text(entry.digest), .text(entry.run),
                    .integer(entry.writtenAt.unixMilliseconds), .text(entry.content),
                ]
            })
    }

    package func entries(
        after number: Int64, limit: Int, in session: any MySQLSession
    ) throws(MySQLFailure) -> [[String?]] {
        do throws(MySQLFailure) {
            return try session.run(
                """
                SELECT CAST(entry AS CHAR), digest, run_id, content, CAST(written_at AS CHAR)
                FROM \(MySQLLedger.entries) WHERE entry > ? ORDER BY entry LIMIT ?
                """, [.integer(number), .integer(Int64(limit))]
            ).rows
        } catch {
            guard MySQLLedger.isMissing(error) else { throw error }
            return []
        }
    }
}

extension MySQLServer {
    /// Throws `.schema` where the ledger is that of other books.
    mutating func refuseOtherBooks() throws(StoreError) {
        guard let books else { return }
        let owner = try link.perform("reading whose ledger it is") {
            session throws(MySQLFailure) in
            try Self.owner(in: session)
        }
        guard let owner, owner.identity != books.identity else { return }
        throw .schema(
            "The ledger `\(MySQLLedger.entries)` in \(place) belongs to another "
                + "database of trueup's, \(owner.path). Nothing was read or written. Only one may "
                + "correct a table in MySQL; several workers cannot share it. Name that one in "
                + "`store.books`. If it is lost, declare with `trueup restored --reason TEXT` that "
                + "\(books.path) replaces it.")
    }

    /// Makes the ledger where there is none, and notes whose it is.
    mutating func makeLedger() throws(StoreError) {
        try link.perform("making the ledger") { session throws(MySQLFailure) in
            do throws(MySQLFailure) {
                _ = try session.run(
                    """
                    SELECT 1 FROM \(MySQLLedger.entries), \(MySQLLedger.owners) WHERE 1 = 0
                    """, [])
            } catch {
                guard MySQLLedger.isMissing(error) else { throw error }
                // Without the right to make tables they may be there all the same.
                for definition in MySQLLedger.definitions { try session.execute(definition) }
            }
        }
        guard let books else { return }
        try link.transaction("noting whose ledger it is") { session throws(MySQLFailure) in
            guard try Self.owner(in: session) == nil else { return }
            do throws(MySQLFailure) {
                try Self.note(books, number: 1, in: session)
            } catch {
                // Another process was faster; whose it is, is looked at below.
                guard error.meaning == .duplicate else { throw error }
            }
        }
        try refuseOtherBooks()
    }

    package mutating func adoptLedger(
        reason: String, by actor: String, at now: Timestamp
    ) throws(StoreError) -> String? {
        guard let books else { return nil }
        return try link.transaction("declaring whose ledger it is") {
            session throws(MySQLFailure) in
            guard let owner = try Self.owner(in: session), owner.identity != books.identity
            else { return nil }
            let last = try session.run(
                "SELECT CAST(max(number) AS CHAR) FROM \(MySQLLedger.owners)", []
            ).first.flatMap { Int64($0) }
            try Self.note(
                books, number: (last ?? 0) + 1, reason: reason, by: actor, at: now, in: session)
            return owner.path
        }
    }

    private static func owner(
        in session: any MySQLSession
    ) throws(MySQLFailure) -> LedgerOwner? {
        do throws(MySQLFailure) {
            let row = try session.run(
                "SELECT identity, path FROM \(MySQLLedger.owners) ORDER BY number DESC LIMIT 1", []
            ).rows.first
            guard let row, row.count == 2, let identity = row[0] else { return nil }
            return LedgerOwner(identity: identity, path: row[1] ?? "")
        } catch {
            // Without a right to it, it may be missing: a run that writes makes it, or says so.
            guard MySQLLedger.isMissing(error) || error.number == 1142 else { throw error }
            return nil
        }
    }

    private static func note(
        _ books: LedgerOwner, number: Int64, reason: String? = nil, by actor: String? = nil,
        at now: Timestamp? = nil, in session: any MySQLSession
    ) throws(MySQLFailure) {
        func text(_ text: String?) -> CompanyLiteral { text.map(CompanyLiteral.text) ?? .null }
        _ = try session.run(
            """
            INSERT INTO \(MySQLLedger.owners) (number, identity, path, declared_at, reason, actor)
            VALUES (?, ?, ?, ?, ?, ?)
            """,
            [
                .integer(number), .text(books.identity), .text(books.path),
                now.map { .integer($0.unixMilliseconds) } ?? .null, text(reason), text(actor),
            ])
    }

    /// Returns what keeps a run from making the ledger, and from writing to it; it only reads.
    mutating func obstacleToMakingLedger() throws(StoreError) -> String? {
        let found = try link.perform("reading the rights") { session throws(MySQLFailure) in
            let tables = try session.run(
                """
                SELECT CAST(count(*) AS CHAR) FROM information_schema.TABLES
                WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN (?, ?)
                """, [.text(MySQLLedger.entries), .text(MySQLLedger.owners)]
            ).first
            let mayCreate = try session.run(
                """
                SELECT 1 FROM information_schema.USER_PRIVILEGES WHERE PRIVILEGE_TYPE = 'CREATE'
                UNION ALL SELECT 1 FROM information_schema.SCHEMA_PRIVILEGES
                    WHERE PRIVILEGE_TYPE = 'CREATE' AND DATABASE() LIKE TABLE_SCHEMA
                UNION ALL SELECT 1 FROM (SELECT count(*) AS n FROM information_schema.TABLE_PRIVILEGES
                    WHERE PRIVILEGE_TYPE = 'CREATE' AND TABLE_SCHEMA = DATABASE()
                    AND TABLE_NAME IN (?, ?)) AS tables WHERE n = 2
                """, [.text(MySQLLedger.entries), .text(MySQLLedger.owners)]
            ).first
            // What a role allows is not listed there.
            let role = try? session.run("SELECT CURRENT_ROLE()", []).first
            let user = try session.run("SELECT CURRENT_USER()", []).first
            return [tables, mayCreate, role.flatMap { $0 == "NONE" ? nil : $0 }, user]
        }
        guard found.count == 4, found[0] != "2" else { return nil }
        guard found[1] == nil, found[2] == nil else { return nil }
        let user = (found[3] ?? "").split(separator: "@", maxSplits: 1).map { "'\($0)'" }
            .joined(separator: "@")
        return "the user may not make trueup's tables (GRANT CREATE, SELECT, INSERT ON "
            + "`\(MySQLLedger.entries)` TO \(user), and the same ON `\(MySQLLedger.owners)`)"
    }
}
