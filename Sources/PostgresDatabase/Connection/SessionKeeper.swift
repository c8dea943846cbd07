import Glibc
import Subscriptions

/// The session in use: opened when it is first needed, and again after it was lost.
struct SessionKeeper: Sendable {
    let connector: PostgresConnector
    let limits: SessionLimits
    private let tables: ServerTables
    private var session: (any ServerSession)?
    /// Whether the server has answered, and may be waited for when it does so no more: once.
    private var mayWait = false
    /// Since when the server is waited for; `nil` where it answers.
    private var unansweredSince: ContinuousClock.Instant?
    /// How often a transaction was begun again that stood in another's way.
    private(set) var repetitions = 0

    init(
        _ connector: PostgresConnector, limits: SessionLimits, about tables: ServerTables = .company
    ) {
        self.connector = connector
        self.limits = limits
        self.tables = tables
    }

    /// The session, connected anew where the last one was lost.
    mutating func current(for doing: String) throws(StoreError) -> any ServerSession {
        if let session {
            session.isUsed(for: doing)
            return session
        }
        let opened = try connector.connect()
        opened.isUsed(for: doing)
        session = opened
        mayWait = true
        return opened
    }

    /// A transaction has ended as it should: the server is there.
    mutating func isAnswered() { unansweredSince = nil }

    /// Gives the session up, so that the server forgets what was going on in it.
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
    ///
    /// What the tries themselves take counts, too: one that is not answered takes longer than a pause.
    private mutating func waitForServer(attempt: Int) -> Bool {
        let pauses = limits.pausesMilliseconds
        let since = unansweredSince ?? .now
        unansweredSince = since
        let longest = Duration.milliseconds(Int64(pauses.reduce(0) { $0 + UInt64($1) }))
        let left = ContinuousClock.now.duration(to: since + longest)
        guard mayWait, attempt > 0, attempt <= pauses.count, left > .zero,
            !connector.patience.isGivenUp
        else {
            if mayWait, pauses == SessionLimits().pausesMilliseconds { connector.patience.giveUp() }
            mayWait = false
            return false
        }
        repetitions &+= 1
        let pause = min(pauses[attempt - 1], UInt32(max(1, left / .milliseconds(1))))
        guard connector.patience.pause(milliseconds: pause) else {
            mayWait = false
            return false
        }
        return true
    }

    /// Reads in a transaction of its own, which is tried again where that may help.
    ///
    /// - Parameters:
    ///   - doing: To go on after "while".
    ///   - body: Reads only.
    /// - Returns: What it read.
    /// - Throws: `StoreError`, once no other attempt may help.
    mutating func read<Value: Sendable>(
        _ doing: String,
        _ body: (any ServerSession) throws(ServerFailure) -> Value
    ) throws(StoreError) -> Value {
        try transaction(doing, writes: false, body)
    }

    /// Writes in a transaction of its own that may be done twice.
    ///
    /// - Parameters:
    ///   - doing: To go on after "while".
    ///   - body: Leaves the same behind when it is done again.
    /// - Returns: What it gave.
    /// - Throws: As for reading.
    mutating func write<Value: Sendable>(
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
}
