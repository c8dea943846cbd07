package import ServerConnections
package import Subscriptions

/// Opens sessions with a server; a build without the trait `MySQL` opens none.
package struct MySQLConnector: Sendable {
    package let address: MySQLAddress
    let patience: ServerPatience
    private let open: @Sendable () throws(MySQLFailure) -> any MySQLSession

    /// - Parameters:
    ///   - address: Which server, for messages.
    ///   - patience: How long its sessions wait for answers.
    ///   - open: Opens a session.
    package init(
        _ address: MySQLAddress, patience: ServerPatience = .ofProcess,
        open: @escaping @Sendable () throws(MySQLFailure) -> any MySQLSession
    ) {
        self.address = address
        self.patience = patience
        self.open = open
    }

    /// Whether this build has libmariadb.
    package static var isBuiltIn: Bool {
        #if MySQL
            true
        #else
            false
        #endif
    }

    /// Advice for a build that has no libmariadb.
    package static let installation =
        "install the package trueup-mysql, or build with `swift build --traits MySQL` (\(DocumentationPage.mysql))"

    /// Opens sessions over libmariadb.
    ///
    /// - Parameters:
    ///   - address: Which server.
    ///   - limits: How long its statements may take and wait.
    /// - Returns: What connects to it.
    /// - Throws: `StoreError` in a build that has no libmariadb.
    package static func libmariadb(
        _ address: MySQLAddress, limits: MySQLLimits = MySQLLimits()
    ) throws(StoreError) -> MySQLConnector {
        #if MySQL
            MySQLConnector(address) { () throws(MySQLFailure) in
                try MariaDBSession(address, limits: limits)
            }
        #else
            throw .schema(
                "store.url names a MySQL or MariaDB database, and this trueup was built without it. "
                    + "Nothing was read or written: \(installation).")
        #endif
    }

    /// Connects.
    ///
    /// - Returns: A session, which ends with its last reference.
    /// - Throws: Why there is none.
    func connect() throws(MySQLFailure) -> any MySQLSession { try open() }
}

/// The session in use: opened when it is first needed, and again after it was lost.
package struct MySQLLink: ServerLink {
    let connector: MySQLConnector
    let limits: MySQLLimits
    private var session: (any MySQLSession)?
    private var reconnection: Reconnection
    /// How often something was done again.
    private(set) var repetitions = 0

    init(
        _ connector: MySQLConnector, limits: MySQLLimits,
        pauses: [UInt32] = Reconnection.pausesOfRun
    ) {
        self.connector = connector
        self.limits = limits
        reconnection = Reconnection(pauses: pauses, patience: connector.patience)
    }

    /// The session, connected again where the last one was lost.
    mutating func current(for doing: String) throws(MySQLFailure) -> any MySQLSession {
        if let session {
            session.isUsed(for: doing)
            return session
        }
        do throws(MySQLFailure) {
            let opened = try connector.connect()
            opened.isUsed(for: doing)
            session = opened
            reconnection.isConnected()
            return opened
        } catch {
            // In every case there is no session to continue with.
            var failure = error
            failure.endsSession = true
            throw failure
        }
    }

    /// A statement was answered as it should: the server is there.
    mutating func isAnswered() { reconnection.isAnswered() }

    /// Gives the session up, so that the server forgets what was active in it.
    mutating func drop() { session = nil }

    /// Ends the open transaction, if there is any, without what it wrote.
    mutating func rollBack() {
        do throws(MySQLFailure) { try session?.execute("ROLLBACK") } catch { drop() }
    }

    /// Whether the same may be tried again after a failure; waits a little before it says so.
    mutating func mayRepeat(after failure: MySQLFailure, attempt: Int) -> Bool {
        guard failure.meaning != .setup else { return false }
        if failure.endsSession {
            drop()
            guard reconnection.pause(afterAttempt: attempt) else { return false }
            repetitions &+= 1
            return true
        }
        guard attempt < limits.attempts, [.again, .locked].contains(failure.meaning),
            // 50, 200 and 800 ms: time for the other one to end.
            connector.patience.pause(
                milliseconds: UInt32(50) << UInt32(2 * min(max(attempt - 1, 0), 4)))
        else { return false }
        repetitions &+= 1
        return true
    }

    /// Does what leaves the same behind when it is done again, such as a reading.
    ///
    /// - Parameters:
    ///   - doing: To follow "while".
    ///   - body: Of one session.
    /// - Returns: What it gave.
    /// - Throws: `StoreError`, once no other attempt may help.
    mutating func perform<Value: Sendable>(
        _ doing: String,
        _ body: (any MySQLSession) throws(MySQLFailure) -> Value
    ) throws(StoreError) -> Value {
        var attempt = 1
        while true {
            do throws(MySQLFailure) {
                let value = try body(try current(for: doing))
                isAnswered()
                return value
            } catch {
                guard mayRepeat(after: error, attempt: attempt) else {
                    throw error.error(doing: doing, at: connector.address.description)
                }
                attempt += 1
            }
        }
    }

    package mutating func read<Value: Sendable>(
        _ doing: String, _ body: (any MySQLSession) throws(MySQLFailure) -> Value
    ) throws(StoreError) -> Value { try perform(doing, body) }

    /// Does the same in a transaction.
    ///
    /// - Parameters:
    ///   - doing: To follow "while".
    ///   - body: Of one transaction.
    /// - Returns: What it gave.
    /// - Throws: As `perform`.
    package mutating func write<Value: Sendable>(
        _ doing: String,
        _ body: (any MySQLSession) throws(MySQLFailure) -> Value
    ) throws(StoreError) -> Value {
        try perform(doing) { session throws(MySQLFailure) in
            try session.execute("START TRANSACTION")
            do throws(MySQLFailure) {
                let value = try body(session)
                try session.execute("COMMIT")
                return value
            } catch {
                if !error.endsSession { try? session.execute("ROLLBACK") }
                throw error
            }
        }
    }

    package static let dialect = MappedStatements.Dialect.mysql

    package mutating func mayBookCalls() throws(StoreError) -> Bool {
        try mayUse([OurTable.calls, OurTable.refusals])
    }

    package static func calls(
        of account: QuotaAccount, in session: any MySQLSession
    ) -> MySQLCallBooks { MySQLCallBooks(session: session, account: account) }

    package mutating func mappableTables() throws(StoreError) -> [CompanyTableDescription] {
        try tables()
    }

    package static func rows(
        of sql: String, in session: any MySQLSession
    ) throws(MySQLFailure) -> [[String?]] { try session.run(sql, []).rows }
}
