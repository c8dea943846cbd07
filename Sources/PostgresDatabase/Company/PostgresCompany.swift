package import ServerConnections
package import Subscriptions

/// The company's own table in PostgreSQL, read and written by its mapping.
package typealias PostgresCompany = ServerCompany<PostgresServer>

extension ServerCompany where Server == PostgresServer {
    /// - Parameters:
    ///   - connector: Opens sessions.
    ///   - mapping: How the table is read and written.
    ///   - books: The identity of the books that the corrections belong to.
    ///   - limits: How long a statement may take and wait.
    package convenience init(
        _ connector: PostgresConnector, mapping: TableMapping, books: String,
        limits: SessionLimits = SessionLimits()
    ) {
        self.init(
            PostgresServer(
                keeper: SessionKeeper(connector, limits: limits), mapping: mapping, books: books),
            mapping: mapping)
    }
}

/// A server of PostgreSQL, with trueup's ledger in a schema of its own.
///
/// Every read is a short transaction under limits of its own. Nothing is kept in the session
/// between them, so that PgBouncer may be between in transaction mode.
package struct PostgresServer: CompanyServer {
    var keeper: SessionKeeper
    private let mapping: TableMapping
    private let members: [MappedTable: JSONMembers]
    /// Whose entries in the ledger are trueup's: several books may correct one database.
    private let books: String
    package var fences: [LeaseFence] = []
    /// The server's name of the last transaction, by which its end is known after a lost connection.
    private var transaction: String?
    /// The transaction whose COMMIT was not answered.
    private var lost: String?

    init(keeper: SessionKeeper, mapping: TableMapping, books: String) {
        self.keeper = keeper
        self.books = books
        self.mapping = mapping
        members = mapping.all.reduce(into: [:]) { $0[$1.kind] = JSONMembers($1) }
    }

    package static let dialect = MappedStatements.Dialect.postgresql
    package static let hasSavepoints = false
    package static let questionsAboutLost = 150
    package static let pauseMilliseconds: UInt32 = 200
    package static let adviceOnLost =
        "End the session in pg_stat_activity if it does not end by itself."

    package var place: String { keeper.connector.address.description }
    package var patience: ServerPatience { keeper.connector.patience }
    package var repetitions: Int { keeper.repetitions }

    package mutating func statements(
        for mapping: TableMapping
    ) throws(StoreError) -> MappedStatements { MappedStatements(mapping, for: .postgresql) }

    package func texts(of row: [String?], by mapping: TableMapping) -> [String?] {
        members[mapping.kind]?.texts(of: row) ?? row
    }

    package mutating func session(for doing: String) throws(ServerFailure) -> any ServerSession {
        do throws(StoreError) {
            return try keeper.current(for: doing)
        } catch {
            let isStopped = if case .stopped = error { true } else { false }
            throw ServerFailure(
                state: isStopped ? .stopped : SQLState(""), endsSession: true, words: "\(error)")
        }
    }

    package func run(
        _ statement: MappedStatement, in session: any ServerSession
    ) throws(ServerFailure) -> (rows: [[String?]], affected: Int) {
        let found = try session.run(statement.sql, statement.parameters)
        return (found.rows, found.affected)
    }

    package mutating func read<Value: Sendable>(
        _ doing: String, _ body: (any ServerSession) throws(ServerFailure) -> Value
    ) throws(StoreError) -> Value { try keeper.read(doing, body) }

    /// Begins a transaction; it keeps every lease until its end.
    package mutating func begin(in session: any ServerSession) throws(ServerFailure) {
        let begun =
            try session.script(keeper.limits.begin(writes: true) + Self.naming).rows.first ?? []
        guard begun.count == 2, begun[1] != "on", let name = begun[0] else {
            throw Self.readOnly
        }
        for fence in fences where try !fence.isHeld(in: session) {
            throw ServerFailure(state: .fenced, words: fence.description)
        }
        transaction = name
        keeper.isAnswered()
    }

    /// A standby gives no transaction a name, and asking it for one is an error of no kind.
    private static let naming = """
        ; SELECT CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_current_xact_id()::text END,
            current_setting('transaction_read_only')
        """

    package mutating func commit(
        upTo entry: Int64?, in session: any ServerSession
    ) throws(ServerFailure) {
        do throws(ServerFailure) {
            let end = try session.script("COMMIT")
            guard end.tag == "COMMIT" else {
                throw ServerFailure(state: SQLState("25P02"), words: "answered \(end.tag)")
            }
            keeper.isAnswered()
        } catch {
            if error.endsSession {
                lost = transaction
                keeper.drop()
            }
            throw error
        }
    }

    package mutating func rollBack() { keeper.rollBack() }

    package mutating func isLostOneOver() throws(StoreError) -> Bool {
        guard let lost else { return true }
        let standing = try keeper.read("looking for the end of a transaction") {
            session throws(ServerFailure) in
            do throws(ServerFailure) {
                return try session.run("SELECT pg_xact_status($1::xid8)", [lost]).first
            } catch {
                // A number in the future: this server has never seen the transaction.
                guard error.state.meaning == .value else { throw error }
                _ = try session.script("ROLLBACK; BEGIN READ ONLY")
                return nil
            }
        }
        if standing != "in progress" { self.lost = nil }
        return self.lost == nil
    }

    package mutating func mayRepeat(after failure: ServerFailure, attempt: Int) -> Bool {
        keeper.mayRepeat(after: failure, attempt: attempt)
    }

    package func insertion(of entries: [CompanyLedgerEntry]) -> MappedStatement {
        let marks = entries.indices.map { index in
            let first = index * 5 + 2
            return "($1, $\(first), $\(first + 1), $\(first + 2), $\(first + 3), $\(first + 4))"
        }
        return MappedStatement(
            sql:
                "INSERT INTO trueup.ledger (books, number, digest, run_id, content, written_at) VALUES "
                + marks.joined(separator: ", "),
            arguments: [.text(books)]
                + entries.flatMap { entry -> [CompanyLiteral] in
                    [
                        .integer(entry.number), .text(entry.digest), .text(entry.run),
                        .text(entry.content), .integer(entry.writtenAt.unixMilliseconds),
                    ]
                })
    }

    package func entries(
        after number: Int64, limit: Int, in session: any ServerSession
    ) throws(ServerFailure) -> [[String?]] {
        guard try session.run("SELECT to_regclass('trueup.ledger')", []).first != nil else {
            return []
        }
        return try session.run(
            """
            SELECT number, digest, run_id, content, written_at FROM trueup.ledger
            WHERE books = $1 AND number > $2 ORDER BY number LIMIT $3
            """, [books, String(number), String(limit)]
        ).rows
    }

    package mutating func tables(
        named name: CompanyTableName?
    ) throws(StoreError) -> [CompanyTableDescription] { try keeper.tables(named: name) }

    package mutating func obstacle(
        to table: CompanyTableName, trying statements: [String]
    ) throws(StoreError) -> String? {
        if let obstacle = try keeper.rowSecurity(of: table) { return obstacle }
        return statements.isEmpty ? nil : try keeper.obstacleToWriting(statements)
    }

    package func replicationLag(
        in session: any ServerSession
    ) throws(ServerFailure) -> ReplicationLag {
        let row = try session.run(Self.lag, []).rows.first ?? []
        guard row.count == 2, row[0] == "t" else {
            return .unknown(
                "the user may not see how far standbys are behind: GRANT pg_monitor to it")
        }
        return .seconds(row[1].flatMap { Double($0) } ?? 0)
    }

    /// Of a primary the standby that is furthest behind, of a standby itself.
    ///
    /// Both are empty where everything is replayed: an idle primary sends nothing to be late with.
    private static let lag = """
        SELECT pg_is_in_recovery() OR pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'),
            extract(epoch FROM CASE WHEN NOT pg_is_in_recovery()
                    THEN (SELECT max(replay_lag) FROM pg_stat_replication)
                WHEN pg_last_wal_receive_lsn() IS DISTINCT FROM pg_last_wal_replay_lsn()
                    THEN clock_timestamp() - pg_last_xact_replay_timestamp() END)
        """

    package mutating func prepareLedger(mayWrite: Bool) throws(StoreError) {
        guard mayWrite else { return }
        try keeper.makeOurTables()
        // Known here, Apple is not asked about rows that no correction reaches.
        try keeper.write("looking whether rows may be written") { session throws(ServerFailure) in
            let state = try session.script("SELECT current_setting('transaction_read_only')").first
            guard state != "on" else { throw Self.readOnly }
        }
    }

    private static let readOnly = ServerFailure(
        state: .readOnly, words: "transactions are read-only there")

    package mutating func obstacleToLedger() throws(StoreError) -> String? {
        if let obstacle = try keeper.obstacleToOurSchema() { return obstacle }
        return try keeper.obstacleToWriting(
            mapping.all.flatMap { MappedStatements($0, for: .postgresql).trials })
    }
}

extension MappedStatement {
    /// The values to bind, as PostgreSQL reads text.
    fileprivate var parameters: [String?] { arguments.map(\.parameter) }
}

extension CompanyLiteral {
    /// The value as PostgreSQL reads text.
    var parameter: String? {
        switch self {
        case .null: nil
        case .text(let text): text
        case .integer(let number): String(number)
        case .boolean(let truth): truth ? "t" : "f"
        }
    }
}
