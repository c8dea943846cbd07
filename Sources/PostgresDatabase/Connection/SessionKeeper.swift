import Glibc
package import ServerConnections
package import Subscriptions

/// The session in use: opened when it is first needed, and again after it was lost.
package struct SessionKeeper: ServerLink {
    let connector: PostgresConnector
    let limits: SessionLimits
    private let tables: ServerTables
    private var session: (any ServerSession)?
    private var reconnection: Reconnection
    /// How often a transaction was begun again that was in another's way.
    private(set) var repetitions = 0

    init(
        _ connector: PostgresConnector, limits: SessionLimits, about tables: ServerTables = .company
    ) {
        self.connector = connector
        self.limits = limits
        self.tables = tables
        reconnection = Reconnection(
            pauses: limits.pausesMilliseconds, patience: connector.patience)
    }

    /// The session, connected again where the last one was lost.
    mutating func current(for doing: String) throws(StoreError) -> any ServerSession {
        if let session {
            session.isUsed(for: doing)
            return session
        }
        let opened = try connector.connect()
        opened.isUsed(for: doing)
        session = opened
        reconnection.isConnected()
        return opened
    }

    /// A transaction has ended as it should: the server is there.
    mutating func isAnswered() { reconnection.isAnswered() }

    /// Gives the session up, so that the server forgets what was active in it.
    mutating func drop() { session = nil }

    /// Ends the open transaction, if there is any, without what it wrote.
    mutating func rollBack() {
        guard let session, (try? session.script("ROLLBACK")) == nil else { return }
        drop()
    }

    /// Whether the same may be tried again after a failure; waits a little before it says so.
    mutating func mayRepeat(after failure: ServerFailure, attempt: Int) -> Bool {
        guard !failure.endsSession else {
            drop()
            return !failure.isOfPooler && waitForServer(attempt: attempt)
        }
        guard attempt < limits.attempts, failure.state.meaning == .again,
            !connector.patience.isStopped
        else { return false }
        repetitions &+= 1
        // 50, 200 and 800 ms: time for the other one to end.
        usleep(UInt32(50_000) << UInt32(2 * min(max(attempt - 1, 0), 4)))
        return true
    }

    /// Pauses before another try to reach the server; not again once it was waited for in vain.
    private mutating func waitForServer(attempt: Int) -> Bool {
        guard reconnection.pause(afterAttempt: attempt) else { return false }
        repetitions &+= 1
        return true
    }

    /// Reads in a transaction of its own.
    package mutating func read<Value: Sendable>(
        _ doing: String,
        _ body: (any ServerSession) throws(ServerFailure) -> Value
    ) throws(StoreError) -> Value {
        try transaction(doing, writes: false, body)
    }

    package mutating func write<Value: Sendable>(
        _ doing: String,
        _ body: (any ServerSession) throws(ServerFailure) -> Value
    ) throws(StoreError) -> Value {
        try transaction(doing, writes: true, body)
    }

    private mutating func transaction<Value: Sendable>(
        _ doing: String, writes: Bool,
        _ body: (any ServerSession) throws(ServerFailure) -> Value
    ) throws(StoreError) -> Value {
        var attempt = 1
        while true {
            let session: any ServerSession
            do throws(StoreError) {
                session = try current(for: doing)
            } catch {
                guard waitForServer(attempt: attempt) else { throw error }
                attempt += 1
                continue
            }
            do throws(ServerFailure) {
                _ = try session.script(limits.begin(writes: writes))
                let value = try body(session)
                let end = try session.script("COMMIT")
                guard end.tag == "COMMIT" else {
                    throw ServerFailure(state: SQLState("25P02"), words: "answered \(end.tag)")
                }
                isAnswered()
                return value
            } catch {
                if !error.endsSession { rollBack() }
                guard mayRepeat(after: error, attempt: attempt) else {
                    throw StoreError(error, doing: doing, at: connector.address, about: tables)
                }
                attempt += 1
            }
        }
    }

    package static let dialect = MappedStatements.Dialect.postgresql

    package mutating func mayBookCalls() throws(StoreError) -> Bool {
        for table in ["calls", "refusals"] {
            let rights = ["SELECT", "INSERT", "UPDATE", "DELETE"]
            guard try mayUse(table, for: rights) else { return false }
        }
        return true
    }

    package static func calls(
        of account: QuotaAccount, in session: any ServerSession
    ) -> PostgresCallBooks { PostgresCallBooks(session: session, account: account) }

    /// Without the parts of others: a mapping of a partition would miss the rows of its neighbours.
    package mutating func mappableTables() throws(StoreError) -> [CompanyTableDescription] {
        try tables(withParts: false)
    }

    package static func rows(
        of sql: String, in session: any ServerSession
    ) throws(ServerFailure) -> [[String?]] { try session.run(sql, []).rows }
}

/// Opens sessions with a server; a build without the trait `PostgreSQL` opens none.
package struct PostgresConnector: Sendable {
    package let address: PostgresAddress
    /// How long its sessions wait for answers.
    let patience: ServerPatience
    private let open: @Sendable () throws(ServerFailure) -> any ServerSession

    /// - Parameters:
    ///   - address: Which server, for messages.
    ///   - patience: How long its sessions wait for answers.
    ///   - open: Opens a session.
    package init(
        _ address: PostgresAddress, patience: ServerPatience = .ofProcess,
        open: @escaping @Sendable () throws(ServerFailure) -> any ServerSession
    ) {
        self.address = address
        self.patience = patience
        self.open = open
    }

    /// Whether this build has libpq.
    package static var isBuiltIn: Bool {
        #if PostgreSQL
            true
        #else
            false
        #endif
    }

    /// Advice for a build that has no libpq.
    package static let installation =
        "install the package trueup-postgresql, or build with `swift build --traits PostgreSQL` "
        + "(\(DocumentationPage.postgresql))"

    /// Opens sessions over libpq.
    ///
    /// - Parameter address: Which server.
    /// - Returns: What connects to it.
    /// - Throws: `StoreError` in a build that has no libpq.
    package static func libpq(_ address: PostgresAddress) throws(StoreError) -> PostgresConnector {
        #if PostgreSQL
            PostgresConnector(address) { () throws(ServerFailure) in try LibpqSession(address) }
        #else
            throw .schema(
                "store.url names a PostgreSQL database, and this trueup was built without it. "
                    + "Nothing was read or written: \(installation).")
        #endif
    }

    /// Connects.
    ///
    /// - Returns: A session, which ends with its last reference.
    /// - Throws: `StoreError.unavailable` where no server answers, or it refuses the user.
    package func connect() throws(StoreError) -> any ServerSession {
        do throws(ServerFailure) {
            return try open()
        } catch {
            throw StoreError(error, doing: "connecting", at: address)
        }
    }
}

extension ServerFailure {
    /// Refusals by PgBouncer that no retry resolves: their words, and the refused thing with the advice.
    ///
    /// They have no SQLSTATE of their own, but their texts are never translated. What the server itself
    /// says about a statement is none of these.
    private static let poolerRefusals = [
        (
            words: "unsupported startup parameter",
            advice: "a parameter that a session begins with. trueup sends application_name and "
                + "client_encoding alone: unset PGOPTIONS and other variables of libpq that set "
                + "more (PGTZ, PGDATESTYLE, PGGEQO), or name the parameter in "
                + "ignore_startup_parameters of pgbouncer.ini."
        ),
        (
            words: "not allowed in statement pooling mode",
            advice:
                "transactions, because its pool_mode is statement, and no correction is written "
                + "without one. Set pool_mode = transaction (or session) for this database in "
                + "pgbouncer.ini."
        ),
    ]

    /// The thing that PgBouncer refuses, and the advice, to follow the word "refuses".
    ///
    /// `nil` for another failure.
    var poolerRefusal: String? {
        guard endsSession else { return nil }
        return Self.poolerRefusals.first { words.contains($0.words) }?.advice
    }

    /// Whether PgBouncer had no session with the server to give: waiting once more would take as
    /// long.
    var isOfFullPooler: Bool { endsSession && words.contains("query_wait_timeout") }

    /// Whether PgBouncer ended the session for a reason that waiting does not take away.
    var isOfPooler: Bool { isOfFullPooler || poolerRefusal != nil }
}
