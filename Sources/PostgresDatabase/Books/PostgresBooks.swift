import FoundationEssentials
package import Subscriptions
import Synchronization

/// Books of one name in our schema of a PostgreSQL database.
///
/// Each call is a short transaction under limits of its own, or several; nothing is kept in the
/// session between them, so that PgBouncer may stand between in transaction mode. Calls block.
package final class PostgresBooks: Sendable {
    let keeper: Mutex<SessionKeeper>
    let schema: BooksSchema
    let name: String
    let holder: String
    let machine: String
    /// The name of the last transaction that was given up, because nobody said what became of it.
    let unanswered = Mutex<String?>(nil)
    private let isChecked = Atomic<Bool>(false)
    private let lifetimeMilliseconds: Int64

    /// - Parameters:
    ///   - connector: Opens sessions; books need one of their own.
    ///   - schema: The tables that they have.
    ///   - name: Which books: those of several workers stand beside each other.
    ///   - holder: Who works, for whoever is refused.
    ///   - machine: Machine and file of the copy. Its lock keeps two runs of one copy apart, so a run
    ///     that held the books from there has died.
    ///   - lifetimeMilliseconds: How long a holder may not be heard of.
    ///   - limits: How long a statement may take and wait.
    package init(
        _ connector: PostgresConnector, schema: BooksSchema, name: String, holder: String,
        machine: String,
        lifetimeMilliseconds: Int64 = AppLeases.lifetimeMilliseconds,
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

    /// Which books stand there.
    ///
    /// - Returns: `nil` for none.
    /// - Throws: `StoreError` where nobody answers.
    package func state() throws(StoreError) -> BooksState? {
        try keeper.withLock { keeper throws(StoreError) in
            guard try keeper.booksVersion() > 0 else { return nil }
            return try keeper.read("looking for the books") { session throws(ServerFailure) in
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

    /// Keeps everybody else from writing these books, and says so again for a holder.
    ///
    /// - Throws: `StoreError.busy`, naming who has them; `.schema` where they cannot be written.
    package func claim() throws(StoreError) {
        if !isChecked.load(ordering: .relaxed) {
            if let obstacle = try obstacle(mayWrite: true) {
                throw .schema("The books in \(place): \(obstacle). Nothing was read or changed.")
            }
            isChecked.store(true, ordering: .relaxed)
        }
        let other = try keeper.withLock { keeper throws(StoreError) in
            try keeper.bringBooksUpToDate(to: self.schema)
            return try keeper.write("claiming the books") { session throws(ServerFailure) in
                try self.claim(in: session)
            }
        }
        guard let other else { return }
        throw .busy(
            "The books in \(place) are being written by \(other). Nothing was asked or written. Let "
                + "it end; a run that died is not waited for longer than "
                + "\(lifetimeMilliseconds / 1000) s. Each worker needs books of its own "
                + "(`store.books: postgres:NAME`).")
    }

    /// - Returns: Who has the books, where it is somebody else.
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
            "\((held?.first ?? nil) ?? "somebody else") since \((held?.last ?? nil) ?? "just now")"
    }

    /// Who writes the books from another machine now.
    ///
    /// - Returns: Who, and since when; `nil` for nobody.
    /// - Throws: `StoreError` where nobody answers.
    package func holderElsewhere() throws(StoreError) -> (holder: String, since: Timestamp?)? {
        try keeper.withLock { keeper throws(StoreError) in
            guard try keeper.booksVersion() > 0 else { return nil }
            let row = try keeper.read("looking who writes the books") {
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
            try keeper.write("giving the books back") { session throws(ServerFailure) in
                _ = try session.run(
                    """
                    UPDATE trueup.books_holders SET expires_at = '-infinity'
                    WHERE name = $1 AND place = $2
                    """, [self.name, self.machine])
            }
        }
    }

    // MARK: - Whole books

    /// Begins books beside those that stand there; they count once `conclude` is called.
    ///
    /// - Parameters:
    ///   - identity: What their ledger and reports carry.
    ///   - schema: The version of the books' schema.
    /// - Returns: Their state, without any row.
    /// - Throws: `StoreError` where they cannot be begun.
    package func begin(identity: String, schema: Int) throws(StoreError) -> BooksState {
        let transaction = Self.newName()
        let number = try keeper.withLock { keeper throws(StoreError) in
            try keeper.write("beginning books") { session throws(ServerFailure) in
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
            throw .inconsistent("The books in \(place) got no number; nothing was written.")
        }
        return BooksState(
            number: number, identity: identity, generation: 0, transaction: transaction,
            schema: schema)
    }

    /// The name of a transaction.
    static func newName() -> String { UUID().uuidString.lowercased() }

    /// Puts the books that were begun in the place of those that stood there, whose rows are deleted.
    ///
    /// - Parameter state: As the last commit left them.
    /// - Throws: `StoreError` where nothing is changed, or where old rows are left, which do no harm.
    package func conclude(_ state: BooksState) throws(StoreError) {
        try keeper.withLock { keeper throws(StoreError) in
            try keeper.write("putting books in place") { session throws(ServerFailure) in
                _ = try session.run(
                    "DELETE FROM trueup.books WHERE name = $1 AND number <> $2",
                    [self.name, String(state.number)])
                _ = try session.run(
                    "UPDATE trueup.books SET is_whole = true WHERE number = $1",
                    [String(state.number)])
            }
            let tables = try keeper.read("looking for rows of former books") {
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

    /// Deletes some rows of books that are gone, a short transaction's worth; whether there were any.
    private static func deleteSome(
        of table: String, by keeper: inout SessionKeeper
    ) throws(StoreError) -> Bool {
        try keeper.write("deleting rows of former books") { session throws(ServerFailure) in
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
