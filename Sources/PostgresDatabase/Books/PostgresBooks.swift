import FoundationEssentials
import ServerConnections
package import Subscriptions
import Synchronization

/// Books of one name in our schema of a PostgreSQL database.
///
/// Each call is a short transaction under limits of its own, or several; nothing is kept in the
/// session between them, so that PgBouncer may be between in transaction mode. Calls block.
package final class PostgresBooks: Sendable {
    let keeper: Mutex<SessionKeeper>
    let schema: BooksSchema
    let name: String
    let holder: String
    let machine: String
    /// The name of the last transaction that was given up, because the server did not say what
    /// became of it.
    let unanswered = Mutex<String?>(nil)
    private let isChecked = Atomic<Bool>(false)
    private let lifetimeMilliseconds: Int64

    /// - Parameters:
    ///   - connector: Opens sessions; books need one of their own.
    ///   - schema: The tables that they have.
    ///   - name: Which books: those of several workers are next to each other.
    ///   - holder: Who works, for a caller that is refused.
    ///   - machine: Machine and file of the copy. Its lock keeps two runs of one copy apart, so a run
    ///     that held the books from there has died.
    ///   - lifetimeMilliseconds: How long a holder may not be heard of.
    ///   - limits: How long a statement may take and wait.
    package init(
        _ connector: PostgresConnector, schema: BooksSchema, name: String, holder: String,
        machine: String,
        lifetimeMilliseconds: Int64 = LeaseFence.lifetimeMilliseconds,
        limits: SessionLimits = SessionLimits()
    ) {
        keeper = Mutex(SessionKeeper(connector, limits: limits, about: .books))
        self.schema = schema
        self.name = name
        self.holder = holder
        self.machine = machine
        self.lifetimeMilliseconds = lifetimeMilliseconds
    }

    /// Where the books are, for messages.
    package var place: String {
        keeper.withLock { "\($0.connector.address) (books \(name))" }
    }

    // MARK: - Whose they are

    /// Which books are there.
    ///
    /// - Returns: `nil` for none.
    /// - Throws: `StoreError` where no one answers.
    package func state() throws(StoreError) -> BooksState? {
        try keeper.withLock { keeper throws(StoreError) in
            guard try keeper.booksVersion() > 0 else { return nil }
            return try keeper.read("looking for trueup's database") {
                session throws(ServerFailure) in
                try Self.state(of: self.name, in: session)
            }
        }
    }

    static func state(
        of name: String, in session: any ServerSession
    ) throws(ServerFailure) -> BooksState? {
        let row = try session.run(
            """
            SELECT number, identity, generation, transaction_name, schema FROM trueup.books
            WHERE name = $1 AND is_whole
            """, [name]
        ).rows.first
        guard let row, row.count == 5, let number = row[0].flatMap({ Int($0) }),
            let identity = row[1], let generation = row[2].flatMap({ Int64($0) }),
            let transaction = row[3], let schema = row[4].flatMap({ Int($0) })
        else { return nil }
        return BooksState(
            number: number, identity: identity, generation: generation, transaction: transaction,
            schema: schema)
    }

    /// Keeps every other machine from writing these books, and says so again for a holder.
    ///
    /// - Throws: `StoreError.busy`, naming who has them; `.schema` where they cannot be written.
    package func claim() throws(StoreError) {
        if !isChecked.load(ordering: .relaxed) {
            if let obstacle = try obstacle(mayWrite: true) {
                throw .schema(
                    "trueup's database in \(place): \(obstacle). Nothing was read or changed.")
            }
            try keeper.withLock { keeper throws(StoreError) in
                try keeper.bringBooksUpToDate(to: self.schema)
            }
            isChecked.store(true, ordering: .relaxed)
        }
        let other = try keeper.withLock { keeper throws(StoreError) in
            try keeper.write("claiming trueup's database") { session throws(ServerFailure) in
                try self.claim(in: session)
            }
        }
        guard let other else { return }
        throw .busy(
            "\(other) is using the database in \(place). Apple was not asked, and nothing was written. "
                + "Wait for it to end; a killed run keeps the database for at most "
                + "\(lifetimeMilliseconds / 1000) s. Each worker needs a database of its own "
                + "(`store.books: postgres:NAME`).")
    }

    /// - Returns: Who has the books, where it is another program.
    func claim(in session: any ServerSession) throws(ServerFailure) -> String? {
        let taken = try session.run(
            """
            INSERT INTO trueup.books_holders AS h (name, holder, place, taken_at, expires_at)
            VALUES ($1, $2, $3, clock_timestamp(), \(Self.end("$4")))
            ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, place = excluded.place,
                taken_at = CASE WHEN h.place = excluded.place AND h.expires_at > clock_timestamp()
                    THEN h.taken_at ELSE excluded.taken_at END,
                expires_at = excluded.expires_at
            WHERE h.expires_at <= clock_timestamp() OR h.place = excluded.place
            """, [name, holder, machine, String(lifetimeMilliseconds)])
        guard taken.affected == 0 else { return nil }
        let held = try session.run(
            """
            SELECT holder, to_char(taken_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
            FROM trueup.books_holders WHERE name = $1
            """, [name]
        ).rows.first
        return
            "\((held?.first ?? nil) ?? "another worker") (since \((held?.last ?? nil) ?? "just now"))"
    }

    /// Who writes the books from another machine now.
    ///
    /// - Returns: Who, and since when; `nil` if it is free.
    /// - Throws: `StoreError` where no one answers.
    package func holderElsewhere() throws(StoreError) -> (holder: String, since: Timestamp?)? {
        try keeper.withLock { keeper throws(StoreError) in
            guard try keeper.booksVersion() > 0 else { return nil }
            let row = try keeper.read("looking for the worker that uses trueup's database") {
                session throws(ServerFailure) in
                try session.run(
                    """
                    SELECT holder, (extract(epoch FROM taken_at) * 1000)::bigint
                    FROM trueup.books_holders
                    WHERE name = $1 AND place <> $2 AND expires_at > clock_timestamp()
                    """, [self.name, self.machine]
                ).rows.first
            }
            guard let row, row.count == 2, let holder = row[0] else { return nil }
            return (
                holder, row[1].flatMap { Int64($0) }.map(Timestamp.init(unixMilliseconds:))
            )
        }
    }

    /// Lets others write.
    package func release() {
        _ = try? keeper.withLock { keeper throws(StoreError) in
            try keeper.write("releasing trueup's database") { session throws(ServerFailure) in
                _ = try session.run(
                    """
                    UPDATE trueup.books_holders SET expires_at = '-infinity'
                    WHERE name = $1 AND place = $2
                    """, [self.name, self.machine])
            }
        }
    }

    // MARK: - Whole books

    /// Begins books next to those that are there; they count once `conclude` is called.
    ///
    /// - Parameters:
    ///   - identity: What their ledger and reports carry.
    ///   - schema: The version of the books' schema.
    /// - Returns: Their state, without any row.
    /// - Throws: `StoreError` where they cannot be begun.
    package func begin(identity: String, schema: Int) throws(StoreError) -> BooksState {
        let transaction = Self.newName()
        let number = try keeper.withLock { keeper throws(StoreError) in
            try keeper.write("beginning trueup's database") { session throws(ServerFailure) in
                try session.run(
                    """
                    INSERT INTO trueup.books
                        (name, identity, schema, generation, transaction_name, is_whole)
                    VALUES ($1, $2, $3, 0, $4, false) RETURNING number
                    """, [self.name, identity, String(schema), transaction]
                ).first.flatMap { Int($0) }
            }
        }
        guard let number else {
            throw .inconsistent(
                "The database in \(place) was not given a number. Nothing was written. This is a fault of trueup, "
                    + "please report it.")
        }
        return BooksState(
            number: number, identity: identity, generation: 0, transaction: transaction,
            schema: schema)
    }

    /// The name of a transaction.
    static func newName() -> String { UUID().uuidString.lowercased() }

    /// Puts the books that were begun in the place of those that were there, whose rows are
    /// deleted.
    ///
    /// - Parameter state: As the last commit left them.
    /// - Throws: `StoreError` where nothing is changed, or where old rows are left, which do no
    ///   harm.
    package func conclude(_ state: BooksState) throws(StoreError) {
        try keeper.withLock { keeper throws(StoreError) in
            try keeper.write("putting trueup's database in place") {
                session throws(ServerFailure) in
                _ = try session.run(
                    "DELETE FROM trueup.books WHERE name = $1 AND number <> $2",
                    [self.name, String(state.number)])
                _ = try session.run(
                    "UPDATE trueup.books SET is_whole = true WHERE number = $1",
                    [String(state.number)])
            }
            let tables = try keeper.read("looking for rows of a former database") {
                session throws(ServerFailure) in
                try session.run(
                    """
                    SELECT c.relname FROM pg_class AS c
                    JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'books'
                    WHERE c.relnamespace = 'trueup'::regnamespace AND c.relkind = 'r'
                        AND c.relname LIKE 'books\\_%' AND NOT a.attisdropped ORDER BY 1
                    """, []
                ).rows.compactMap { $0.first.flatMap(\.self) }
            }
            for table in tables {
                while try Self.deleteSome(of: table, by: &keeper) {}
            }
        }
    }

    /// Deletes some rows of books that are gone, a short transaction's worth; whether there were
    /// any.
    private static func deleteSome(
        of table: String, by keeper: inout SessionKeeper
    ) throws(StoreError) -> Bool {
        try keeper.write("deleting rows of a former database") { session throws(ServerFailure) in
            try session.run(
                """
                DELETE FROM trueup.\(table) WHERE ctid = ANY (ARRAY (
                    SELECT ctid FROM trueup.\(table)
                    WHERE books NOT IN (SELECT number FROM trueup.books) LIMIT 5000))
                """, []
            ).affected > 0
        }
    }

    private static func end(_ milliseconds: String) -> String {
        "clock_timestamp() + \(milliseconds)::bigint * interval '1 millisecond'"
    }
}

extension PostgresBooks {
    /// Returns what keeps a run from working with trueup's database as it is on the server; it only
    /// reads.
    ///
    /// - Parameter mayWrite: Whether it would write them.
    /// - Returns: What it is and what fixes it; `nil` for nothing, and where no books are there
    ///   yet.
    /// - Throws: `StoreError` where no one answers.
    package func obstacle(mayWrite: Bool) throws(StoreError) -> String? {
        try keeper.withLock { keeper throws(StoreError) in
            let version = try keeper.booksVersion()
            guard version <= self.schema.newest else {
                return "a newer trueup wrote this database (\(version), this version knows "
                    + "\(self.schema.newest)): use the newer version"
            }
            let tables = try self.schema.names(ofVersion: version)
            return try keeper.read("reading the tables of trueup's database") {
                session throws(ServerFailure) in
                if let obstacle = try Self.obstacleOfEncoding(session) { return obstacle }
                guard !tables.isEmpty else { return nil }
                return try Self.obstacleOf(tables, mayWrite: mayWrite, session)
            }
        }
    }

    /// Reasons, names and messages are of any language; a server with a narrow encoding refuses
    /// them in the middle of a run.
    private static func obstacleOfEncoding(
        _ session: any ServerSession
    ) throws(ServerFailure) -> String? {
        let encoding = try session.run("SELECT current_setting('server_encoding')", []).first ?? ""
        guard !["UTF8", "SQL_ASCII"].contains(encoding) else { return nil }
        return
            "the server's database has the encoding \(encoding), and trueup's needs UTF8: put it into a "
            + "file (store.books: sqlite:FILE)"
    }

    private static func obstacleOf(
        _ tables: [String], mayWrite: Bool, _ session: any ServerSession
    ) throws(ServerFailure) -> String? {
        let rights = mayWrite ? ["SELECT", "INSERT", "UPDATE", "DELETE"] : ["SELECT"]
        let found = try session.run(
            """
            SELECT t.name, c.oid IS NOT NULL, coalesce(string_agg(r.name, ', ' ORDER BY r.name)
                FILTER (WHERE NOT has_table_privilege(c.oid, r.name)), ''), current_user
            FROM unnest(string_to_array($1, ',')) AS t (name)
            CROSS JOIN unnest(string_to_array($2, ',')) AS r (name)
            LEFT JOIN pg_class AS c
                ON c.relname = t.name AND c.relnamespace = 'trueup'::regnamespace
            GROUP BY t.name, c.oid ORDER BY t.name
            """, [tables.joined(separator: ","), rights.joined(separator: ",")]
        ).rows
        let gone = found.filter { $0[1] == "f" }.compactMap(\.first).compactMap(\.self)
        guard gone.isEmpty else {
            let names = gone.map { "trueup.\($0)" }.joined(separator: ", ")
            return
                "\(names) \(gone.count == 1 ? "was" : "were") dropped. Restore what was dropped "
                + "(\(DocumentationPage.backup))"
        }
        guard let lacking = found.first(where: { $0[2] != "" }), lacking.count == 4,
            let table = lacking[0], let missing = lacking[2], let user = lacking[3]
        else { return nil }
        let others = found.count { $0[2] != "" } - 1
        let quoted = "\"" + user.replacing("\"", with: "\"\"") + "\""
        return "the user \(user) lacks \(missing) on trueup.\(table)"
            + (others == 0 ? "" : " and rights on \(others) more") + " (GRANT SELECT, INSERT, "
            + "UPDATE, DELETE ON ALL TABLES IN SCHEMA trueup TO \(quoted))"
    }
}

extension PostgresBooks {
    /// Reads the books as they are at one moment.
    ///
    /// In a short transaction for each page, as long as no machine writes the books meanwhile;
    /// otherwise once more in one transaction that only reads.
    ///
    /// - Parameter body: Reads; it may be called twice.
    /// - Returns: What it read.
    /// - Throws: `StoreError` where they cannot be read; what `body` throws.
    package func reading<Value>(_ body: (PostgresBooksReading) throws -> Value) throws -> Value {
        let pages = PostgresBooksReading(of: self, as: try state())
        do {
            return try body(pages)
        } catch {
            guard pages.isPast else { throw error }
            return try readingAtOnce(body)
        }
    }

    private func readingAtOnce<Value>(
        _ body: (PostgresBooksReading) throws -> Value
    ) throws -> Value {
        let (connector, limits) = keeper.withLock { ($0.connector, $0.limits) }
        // Of its own: the other one may be needed to say that the books are still held.
        let session = try connector.connect()
        session.isUsed(for: "reading trueup's database")
        let state: BooksState?
        do throws(ServerFailure) {
            _ = try session.script(limits.begin(writes: false, isSnapshot: true))
            state = try Self.state(of: name, in: session)
        } catch {
            throw StoreError(
                error, doing: "beginning to read trueup's database", at: connector.address,
                about: .books)
        }
        defer { _ = try? session.script("ROLLBACK") }
        return try body(PostgresBooksReading(of: self, as: state, within: session))
    }
}

/// The books of one name at one moment.
package final class PostgresBooksReading: Sendable {
    private let books: PostgresBooks
    /// With an open transaction; `nil` where each page is one of its own.
    private let session: (any ServerSession)?
    /// Which books are there; `nil` for none.
    package let state: BooksState?
    private let hasMoved = Atomic<Bool>(false)

    /// Whether another machine has changed the books since, so that no more of that moment can be
    /// read.
    var isPast: Bool { hasMoved.load(ordering: .relaxed) }

    init(
        of books: PostgresBooks, as state: BooksState?, within session: (any ServerSession)? = nil
    ) {
        self.books = books
        self.state = state
        self.session = session
    }

    /// Rows of a table in the order of its key; a column that no later program has added yet is NULL.
    ///
    /// - Parameters:
    ///   - table: Which.
    ///   - key: Rows with greater keys; `nil` from the first on.
    ///   - limit: How many at most.
    /// - Returns: Values in the order of the columns.
    /// - Throws: `StoreError` where they cannot be read.
    package func rows(
        of table: BooksTable, after key: [BooksValue]?, limit: Int
    ) throws(StoreError) -> [[BooksValue]] {
        guard let state else { return [] }
        let text = BooksText(table: table)
        let there = BooksSchema.table(table.name)
        let present = Set(
            try texts(
                "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0",
                [there], of: state
            ).compactMap { $0.first.flatMap(\.self) })
        let names = text.columns.map { present.contains($0) ? "\"\($0)\"" : "NULL" }
            .joined(separator: ", ")
        let order = table.key.map { "\"\($0)\"" }.joined(separator: ", ")
        let marks = table.key.indices.map { "$\($0 + 2)" }.joined(separator: ", ")
        let position = key == nil ? "" : "AND (\(order)) > (\(marks))"
        let found = try texts(
            """
            SELECT \(names) FROM \(there)
            WHERE books = $1 \(position) ORDER BY \(order) LIMIT \(limit)
            """, [String(state.number)] + (key ?? []).map(BooksText.parameter), of: state)
        return try found.map { texts throws(StoreError) in
            guard let row = text.row(texts) else {
                throw .inconsistent(
                    "A row of \(there) in \(books.place) cannot be read: another program wrote it. Nothing "
                        + "was changed. Restore the schema trueup from a backup.")
            }
            return row
        }
    }

    private func texts(
        _ sql: String, _ parameters: [String?], of state: BooksState
    ) throws(StoreError) -> [[String?]] {
        if let session {
            do throws(ServerFailure) {
                return try session.run(sql, parameters).rows
            } catch {
                let address = books.keeper.withLock(\.connector.address)
                throw StoreError(
                    error, doing: "reading trueup's database", at: address, about: .books)
            }
        }
        let found = try books.keeper.withLock { keeper throws(StoreError) in
            try keeper.read("reading trueup's database") {
                session throws(ServerFailure) -> [[String?]]? in
                let rows = try session.run(sql, parameters).rows
                // A statement sees what was committed before it: what was changed shows here.
                let now = try PostgresBooks.state(of: self.books.name, in: session)
                return now == state ? rows : nil
            }
        }
        if let found { return found }
        hasMoved.store(true, ordering: .relaxed)
        throw .busy(
            "Another run changed the database in \(books.place) while it was read. Nothing was written. "
                + "Give the command again.")
    }
}

extension PostgresBooks {
    /// Makes the changes of one transaction, all or none, if the books are in this state.
    ///
    /// - Parameters:
    ///   - changes: Each table at most once.
    ///   - state: In which the changes were made.
    /// - Returns: The state that the books are in then.
    /// - Throws: `StoreError.busy` where they are in another state.
    package func commit(
        _ changes: [BooksChange], to state: BooksState
    ) throws(StoreError) -> BooksState {
        let statements: [(sql: String, json: String)]
        do {
            statements = try changes.flatMap(Self.statements)
        } catch {
            throw .inconsistent(
                "A value in trueup's database does not have the form of its column \(error). Nothing was "
                    + "written. This is a fault of trueup, please report it.")
        }
        var next = state
        next.generation &+= 1
        next.transaction = Self.newName()
        let outcome: Outcome
        do throws(StoreError) {
            outcome = try keeper.withLock { keeper throws(StoreError) in
                // The same again leaves the same behind: the transaction is known by its name.
                try keeper.write("committing trueup's database") { session throws(ServerFailure) in
                    try self.commit(statements, from: state, to: next, in: session)
                }
            }
        } catch {
            switch error {
            case .unavailable, .stopped: unanswered.withLock { $0 = next.transaction }
            case .notWritten, .busy, .schema, .inconsistent: break
            }
            throw error
        }
        switch outcome {
        case .done: return next
        case .isPast:
            throw .busy(
                "Another run changed the database in \(place) since it was read. Nothing of this step "
                    + "was written. Run the job again: it reads the database again first.")
        case .isOurs:
            throw .unavailable(
                "The server lost its answer to an earlier step. The database in \(place) has that step, "
                    + "and its local cache has not. Nothing of this step was written, and nothing is "
                    + "lost. Run the job again: trueup makes the cache again, and the run continues."
            )
        }
    }

    /// The outcome of a transaction.
    private enum Outcome {
        case done
        /// Another program has changed the books.
        case isPast
        /// They have a transaction of trueup's that was given up without an answer.
        case isOurs
    }

    private func commit(
        _ statements: [(sql: String, json: String)], from state: BooksState,
        to next: BooksState, in session: any ServerSession
    ) throws(ServerFailure) -> Outcome {
        let number = String(state.number)
        let raised = try session.run(
            """
            UPDATE trueup.books SET generation = $3, transaction_name = $4,
                committed_at = clock_timestamp()
            WHERE number = $1 AND transaction_name = $2
            """, [number, state.transaction, String(next.generation), next.transaction])
        guard raised.affected == 1 else {
            // A commit whose answer was lost and that is tried again has been done.
            let last = try session.run(
                "SELECT transaction_name FROM trueup.books WHERE number = $1", [number]
            ).first
            if last == next.transaction { return .done }
            return last != nil && last == unanswered.withLock(\.self) ? .isOurs : .isPast
        }
        guard try claim(in: session) == nil else {
            _ = try session.script("ROLLBACK; BEGIN")
            return .isPast
        }
        for statement in statements {
            _ = try session.run(statement.sql, [number, statement.json])
        }
        return .done
    }

    private static func statements(
        of change: BooksChange
    ) throws(BooksText.Misfit) -> [(sql: String, json: String)] {
        let text = BooksText(table: change.table)
        let there = BooksSchema.table(change.table.name)
        var statements: [(sql: String, json: String)] = []
        if !change.deleted.isEmpty {
            let match = change.table.key.map { "t.\"\($0)\" = r.\"\($0)\"" }
            statements.append(
                (
                    """
                    DELETE FROM \(there) AS t
                    USING json_populate_recordset(NULL::\(there), $2::json) AS r
                    WHERE t.books = $1::integer AND \(match.joined(separator: " AND "))
                    """, try text.json(ofKeys: change.deleted)
                ))
        }
        guard !change.rows.isEmpty else { return statements }
        let names = text.columns.map { "\"\($0)\"" }
        let key = change.table.key.map { "\"\($0)\"" }.joined(separator: ", ")
        let others = text.columns.filter { !change.table.key.contains($0) }
            .map { "\"\($0)\" = excluded.\"\($0)\"" }
        let resolution =
            others.isEmpty ? "NOTHING" : "UPDATE SET " + others.joined(separator: ", ")
        statements.append(
            (
                """
                INSERT INTO \(there) (books, \(names.joined(separator: ", ")))
                SELECT $1::integer, \(names.map { "r." + $0 }.joined(separator: ", "))
                FROM json_populate_recordset(NULL::\(there), $2::json) AS r
                ON CONFLICT (books, \(key)) DO \(resolution)
                """, try text.json(of: change.rows)
            ))
        return statements
    }
}
