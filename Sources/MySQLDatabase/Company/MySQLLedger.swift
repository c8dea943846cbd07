import ServerConnections
package import Subscriptions
import Synchronization

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

    /// Adds entries, in one statement.
    static func append(
        _ entries: [CompanyLedgerEntry], in session: any MySQLSession
    ) throws(MySQLFailure) {
        guard !entries.isEmpty else { return }
        let marks = entries.map { _ in "(?, ?, ?, ?, ?)" }.joined(separator: ", ")
        _ = try session.run(
            "INSERT INTO \(Self.entries) (entry, digest, run_id, written_at, content) VALUES \(marks)",
            entries.flatMap { entry -> [CompanyLiteral] in
                [
                    .integer(entry.number), .text(entry.digest), .text(entry.run),
                    .integer(entry.writtenAt.unixMilliseconds), .text(entry.content),
                ]
            })
    }

    /// Whether a failure says that there is no such table yet.
    static func isMissing(_ failure: MySQLFailure) -> Bool { failure.number == 1146 }
}

extension MySQLCompany {
    /// Entries of our ledger there with higher numbers, in order; none where there is no ledger
    /// yet.
    ///
    /// After a commit without an answer it first waits until that is at its end.
    ///
    /// - Parameters:
    ///   - number: The last number that is known.
    ///   - limit: How many at most.
    /// - Returns: The entries.
    /// - Throws: `StoreError.unavailable` where the server cannot be asked.
    package func entries(
        after number: Int64, limit: Int
    ) throws(StoreError) -> [CompanyLedgerEntry] {
        try state.withLock { state throws(StoreError) in
            try awaitEnd(ofLost: &state)
            return try read("reading the ledger", &state) { session throws(MySQLFailure) in
                try Self.entries(after: number, limit: limit, in: session)
            }
        }
    }

    private static func entries(
        after number: Int64, limit: Int, in session: any MySQLSession
    ) throws(MySQLFailure) -> [CompanyLedgerEntry] {
        let rows: [[String?]]
        do throws(MySQLFailure) {
            rows = try session.run(
                """
                SELECT CAST(entry AS CHAR), digest, run_id, CAST(written_at AS CHAR), content
                FROM \(MySQLLedger.entries) WHERE entry > ? ORDER BY entry LIMIT ?
                """, [.integer(number), .integer(Int64(limit))]
            ).rows
        } catch {
            guard MySQLLedger.isMissing(error) else { throw error }
            return []
        }
        return rows.compactMap { row in
            guard row.count == 5, let number = row[0].flatMap({ Int64($0) }),
                let digest = row[1], let run = row[2],
                let written = row[3].flatMap({ Int64($0) }), let content = row[4]
            else { return nil }
            return CompanyLedgerEntry(
                number: number, digest: digest, run: run, content: content,
                writtenAt: Timestamp(unixMilliseconds: written))
        }
    }

    /// Whether our ledger there has an entry, once a commit without an answer is at its end.
    ///
    /// - Throws: `StoreError` where the server cannot be asked.
    func holds(_ entry: CompanyLedgerEntry, _ state: inout State) throws(StoreError) -> Bool {
        try awaitEnd(ofLost: &state)
        return try state.link.perform("reading the ledger") { session throws(MySQLFailure) in
            try Self.entries(after: entry.number &- 1, limit: 1, in: session).first?.digest
                == entry.digest
        }
    }

    /// How often a lock is waited for that a transaction still holds whose answer was lost.
    private static let patience = 75

    /// Waits until a transaction whose COMMIT was not answered is at its end, either way.
    ///
    /// It had written its entries before: until it ends, no other transaction gets their lock. A
    /// server that does not know it any more, as after a fail-over, cannot commit it any more.
    private func awaitEnd(ofLost state: inout State) throws(StoreError) {
        guard let lost = state.lost, state.unit == nil else { return }
        let connector = state.link.connector
        for _ in 0..<Self.patience {
            let isOver = try state.link.perform("looking for the end of a transaction") {
                session throws(MySQLFailure) in
                try session.execute("START TRANSACTION")
                defer { try? session.execute("ROLLBACK") }
                do throws(MySQLFailure) {
                    _ = try session.run(
                        "SELECT entry FROM \(MySQLLedger.entries) WHERE entry = ? FOR UPDATE",
                        [.integer(lost)])
                    return true
                } catch {
                    guard error.meaning == .locked else { throw error }
                    return false
                }
            }
            guard !isOver else {
                state.lost = nil
                return
            }
            guard !connector.patience.isStopped else {
                throw .stopped(
                    "A signal ended the wait for a transaction whose answer was lost: the server "
                        + "\(connector.address) still works on it. The next run checks it before "
                        + "anything else. End the session (KILL) if it does not end by itself.")
            }
        }
        throw .unavailable(
            "The server \(connector.address) has not ended a transaction whose answer was lost. The "
                + "next run checks it before anything else. End the session (KILL) if it does not end "
                + "by itself.")
    }
}

extension MySQLCompany {
    /// Throws `.schema` where the ledger is that of other books.
    func refuseOtherBooks(_ state: inout State) throws(StoreError) {
        guard let books else { return }
        let owner = try state.link.perform("reading whose ledger it is") {
            session throws(MySQLFailure) in
            try Self.owner(in: session)
        }
        guard let owner, owner.identity != books.identity else { return }
        throw .schema(
            "The ledger `\(MySQLLedger.entries)` in \(state.link.connector.address) belongs to another "
                + "database of trueup's, \(owner.path). Nothing was read or written. Only one may "
                + "correct a table in MySQL; several workers cannot share it. Name that one in "
                + "`store.books`. If it is lost, declare with `trueup restored --reason TEXT` that "
                + "\(books.path) replaces it.")
    }

    /// Makes the ledger where there is none, and notes whose it is.
    func makeLedger(_ state: inout State) throws(StoreError) {
        try state.link.perform("making the ledger") { session throws(MySQLFailure) in
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
        try state.link.transaction("noting whose ledger it is") { session throws(MySQLFailure) in
            guard try Self.owner(in: session) == nil else { return }
            do throws(MySQLFailure) {
                try Self.note(books, number: 1, in: session)
            } catch {
                // Another process was faster; whose it is, is looked at below.
                guard error.meaning == .duplicate else { throw error }
            }
        }
        try refuseOtherBooks(&state)
    }

    /// Declares that these books take the place of others that are lost.
    ///
    /// - Parameters:
    ///   - reason: Why, for a caller that asks later.
    ///   - actor: Who declares it.
    ///   - now: When.
    /// - Returns: Where the others were; `nil` where nothing is declared, because the ledger is
    ///   theirs already.
    /// - Throws: `StoreError` where the server cannot be asked.
    package func adoptLedger(
        reason: String, by actor: String, at now: Timestamp
    ) throws(StoreError) -> String? {
        guard let books else { return nil }
        return try state.withLock { state throws(StoreError) in
            try state.link.transaction("declaring whose ledger it is") {
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
    func obstacleToMakingLedger(_ state: inout State) throws(StoreError) -> String? {
        let found = try state.link.perform("reading the rights") { session throws(MySQLFailure) in
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
