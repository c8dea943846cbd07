package import ServerConnections
package import Subscriptions

/// One session with a PostgreSQL server: statements in, rows of text out.
///
/// What is behind it is libpq in a build that has it, and a script in tests. Its calls block.
package protocol ServerSession: AnyObject, Sendable {
    /// Runs one statement.
    ///
    /// - Parameters:
    ///   - sql: With `$1`, `$2`, … where values belong.
    ///   - parameters: The values as text; `nil` is NULL. They never become part of the statement.
    /// - Returns: The rows, and how many were written.
    /// - Throws: What the server said, or that it can no longer be heard.
    func run(_ sql: String, _ parameters: [String?]) throws(ServerFailure) -> ServerRows

    /// Runs several statements without values in one exchange.
    ///
    /// - Parameter sql: Statements, divided by semicolons.
    /// - Returns: The result of the last.
    /// - Throws: What the server said, or that it can no longer be heard.
    func script(_ sql: String) throws(ServerFailure) -> ServerRows

    /// Notes what the next statements are for, for people who see that it waits.
    ///
    /// - Parameter doing: To follow "while".
    func isUsed(for doing: String)
}

extension ServerSession {
    package func isUsed(for doing: String) {}
}

/// The result of a statement.
package struct ServerRows: Hashable, Sendable {
    /// In the order of the statement; `nil` is NULL.
    package var rows: [[String?]]
    /// How many rows were written; 0 for a statement that writes none.
    package var affected: Int
    /// The server's name for what it did, such as `COMMIT`; it answers a transaction that could not
    /// be committed with `ROLLBACK`.
    package var tag: String

    package init(rows: [[String?]] = [], affected: Int = 0, tag: String = "") {
        self.rows = rows
        self.affected = affected
        self.tag = tag
    }

    /// The first column of the first row.
    package var first: String? { rows.first?.first ?? nil }
}

/// The reason why a statement failed.
package struct ServerFailure: ServerFault, Hashable, Sendable {
    /// PostgreSQL's five characters; empty where no server answered.
    package var state: SQLState
    /// Whether the session is over: what was sent last may or may not have been done.
    package var endsSession: Bool
    /// The server's words, without the values that it repeats: they are personal data.
    package var words: String
    /// Whether it is about the one row that was written, and nothing else is in the way.
    package var isOfOneRow = false

    package init(state: SQLState, endsSession: Bool = false, words: String) {
        self.state = state
        self.endsSession = endsSession
        self.words = words
    }

    package var meaning: ServerMeaning { state.meaning }
    package var mayBeOfOneRow: Bool { state.mayBeOfOneRow }

    package var said: String { state.description.isEmpty ? words : "\(state): \(words)" }

    package static func again(_ words: String) -> ServerFailure {
        ServerFailure(state: SQLState("40001"), words: words)
    }

    package func error(doing: String, at place: String) -> StoreError {
        StoreError(self, doing: doing, at: place, about: .company)
    }
}

extension SharedSession where Link == SessionKeeper {
    /// Each session of a run is one that PgBouncer in session mode takes from the server.
    ///
    /// A server that is away is not waited for: what is done here is done again, or only a note.
    ///
    /// - Parameters:
    ///   - connector: Opens it.
    ///   - pauses: Those before each further try at a server that has answered before.
    package convenience init(_ connector: PostgresConnector, pauses: [UInt32] = [50, 200, 800]) {
        var limits = SessionLimits()
        limits.pausesMilliseconds = pauses
        self.init(SessionKeeper(connector, limits: limits))
    }
}

/// How long our statements may take and wait next to the company's own.
///
/// Set in each transaction and not in the session: behind PgBouncer in transaction mode the next
/// transaction may run in another session.
package struct SessionLimits: Hashable, Sendable {
    /// One statement.
    package var statementMilliseconds = 30_000
    /// Waiting for a lock, such as that of a migration.
    package var lockMilliseconds = 2_000
    /// Between two statements: a paused process must not hold the company's rows.
    package var idleMilliseconds = 10_000
    /// How often a transaction is begun again that was in another's way.
    package var attempts = 4
    /// The pauses before each further try at a server that has answered before.
    package var pausesMilliseconds = Reconnection.pausesOfRun

    package init() {}

    /// Begins a transaction under these limits, whatever the server's or the user's defaults are.
    ///
    /// - Parameters:
    ///   - writes: Whether it may write.
    ///   - isSnapshot: Whether all its statements see the moment of the first.
    /// - Returns: Statements for one exchange.
    package func begin(writes: Bool, isSnapshot: Bool = false) -> String {
        """
        BEGIN ISOLATION LEVEL \(isSnapshot ? "REPEATABLE READ" : "READ COMMITTED")\(writes ? "" : " READ ONLY");
        SET LOCAL statement_timeout = \(statementMilliseconds);
        SET LOCAL lock_timeout = \(lockMilliseconds);
        SET LOCAL idle_in_transaction_session_timeout = \(idleMilliseconds);
        SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO, YMD';
        SET LOCAL standard_conforming_strings = on;
        SET LOCAL bytea_output = 'hex'; SET LOCAL extra_float_digits = 1
        """
    }
}

/// The five characters by which PostgreSQL names an error; its words change with the language.
package struct SQLState: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ code: String) { description = code }

    static let readOnly = SQLState("25006")
    /// Of trueup, not of a server: a lease has another holder now.
    static let fenced = SQLState("TU001")
    /// Of trueup, not of a server: a lease is held.
    static let leased = SQLState("TU002")
    /// Of trueup, not of a server: a signal ended the wait.
    static let stopped = SQLState("TU004")

    package var meaning: ServerMeaning {
        switch description {
        case "": .unavailable
        case Self.fenced.description: .fenced
        case Self.leased.description: .leased
        case Self.stopped.description: .stopped
        case "25006": .readOnly
        case "55P03": .locked
        case "57014": .tooSlow
        case "40001", "40P01": .again
        case "42501": .forbidden
        case "23505": .duplicate
        case "55006": .locked
        case "3F000", "3D000": .schema
        case "57P01", "57P02", "57P03", "57P05", "25P03", "53300", "53200": .unavailable
        default: meaningOfClass
        }
    }

    /// Whether a statement that wrote one row may have failed with it because of that row alone.
    ///
    /// A trigger raises whatever it likes, and fails in whatever way when its own tables or
    /// functions are gone; the statement itself was well, because the row was read by the same
    /// mapping just before. What remains is about the server, or about other transactions.
    package var mayBeOfOneRow: Bool {
        switch meaning {
        case .locked, .tooSlow, .again, .full, .stopped: false
        // Without a state, and where the server has no memory, the error is not about a row.
        case .unavailable: !["", "53"].contains(description.prefix(2))
        default: description != "25P02"
        }
    }

    private var meaningOfClass: ServerMeaning {
        switch description.prefix(2) {
        case "08", "28": .unavailable
        case "42": .schema
        case "53", "58": .full
        case "09", "21", "22", "23", "44", "P0": .value
        default: .other
        }
    }
}

extension StoreError {
    /// Translates what a PostgreSQL server says; nothing else of this module gives errors a
    /// meaning.
    ///
    /// - Parameters:
    ///   - failure: What the server said.
    ///   - doing: What was being done, to follow "while".
    ///   - address: Which server it is.
    ///   - tables: Whose tables were spoken of.
    package init(
        _ failure: ServerFailure, doing: String, at address: PostgresAddress,
        about tables: ServerTables = .company
    ) { self.init(failure, doing: doing, at: address.description, about: tables) }

    init(_ failure: ServerFailure, doing: String, at server: String, about tables: ServerTables) {
        let said =
            failure.state.description.isEmpty || failure.state == .stopped
            ? "(\(failure.words))" : "(PostgreSQL \(failure.state): \(failure.words))"
        if let refusal = failure.poolerRefusal {
            self = .schema(
                "PgBouncer before the database \(server) refuses \(refusal) Nothing of this "
                    + "step was written. \(said)")
            return
        }
        guard !failure.isOfFullPooler else {
            self = .unavailable(
                "PgBouncer before the database \(server) had no session with the server for as long "
                    + "as its query_wait_timeout allows while \(doing); nothing of this step was "
                    + "written. With pool_mode = session a run needs four at once: raise "
                    + "default_pool_size, or set pool_mode = transaction; then run again. \(said)")
            return
        }
        self.init(
            failure, doing: doing, at: server, said: said,
            checks: "store.url and the rights of the user",
            readOnly: "It is a standby, or default_transaction_read_only is on: point "
                + "store.url at the primary",
            locked: "Find the session in pg_stat_activity", schema: tables.advice,
            rights: tables.adviceOnRights)
    }
}

/// Whose tables a statement is about, for the advice where they are not as expected.
package enum ServerTables: Sendable {
    case company
    /// Those of the books, which only trueup writes.
    case books

    var advice: String {
        switch self {
        case .company: "Adapt store.subscriptions to the change, or undo it."
        case .books:
            "They are trueup's own: undo the change, or restore the database from a backup "
                + "(\(DocumentationPage.backup))."
        }
    }

    var adviceOnRights: String {
        switch self {
        case .company: "`trueup doctor` names the rights that are needed."
        case .books:
            "It must own the tables of the schema trueup, or have SELECT, INSERT, UPDATE and DELETE on "
                + "all of them (\(DocumentationPage.postgresql))."
        }
    }
}
