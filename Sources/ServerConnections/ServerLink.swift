package import Subscriptions
import Synchronization

/// The session in use with one kind of server that several workers share.
///
/// It is opened when it is first needed, and again after it was lost. All methods block.
package protocol ServerLink: Sendable {
    associatedtype Session
    associatedtype Failure: ServerFault
    /// The booked calls of one account.
    associatedtype Calls: CallBooks where Calls.Failure == Failure

    static var dialect: MappedStatements.Dialect { get }

    /// Makes trueup's tables, where they are not there.
    mutating func makeOurTables() throws(StoreError)

    /// Returns whether the tables of calls are there and may be written at present.
    mutating func mayBookCalls() throws(StoreError) -> Bool

    /// Reads, and reads again where that may help.
    ///
    /// - Parameters:
    ///   - doing: To follow "while".
    ///   - body: Reads only.
    /// - Returns: What it read.
    /// - Throws: `StoreError`, once no other attempt may help.
    mutating func read<Value: Sendable>(
        _ doing: String, _ body: (Session) throws(Failure) -> Value
    ) throws(StoreError) -> Value

    /// Writes in a transaction of its own that may be done twice.
    ///
    /// - Parameters:
    ///   - doing: To follow "while".
    ///   - body: Leaves the same behind when it is done again.
    /// - Returns: What it gave.
    /// - Throws: As for reading.
    mutating func write<Value: Sendable>(
        _ doing: String, _ body: (Session) throws(Failure) -> Value
    ) throws(StoreError) -> Value

    /// The calls of an account, within a transaction.
    static func calls(of account: QuotaAccount, in session: Session) -> Calls

    /// The tables and views that a mapping may name, without the server's own and trueup's.
    mutating func mappableTables() throws(StoreError) -> [CompanyTableDescription]

    /// The rows that a statement without values selects.
    static func rows(of sql: String, in session: Session) throws(Failure) -> [[String?]]
}

/// A session that several share, one call at a time.
package final class SharedSession<Link: ServerLink>: Sendable {
    private let link: Mutex<Link>

    package init(_ link: Link) { self.link = Mutex(link) }

    /// Does several things with the session before another caller has it.
    package func withLink<Value: Sendable>(
        _ body: (inout Link) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        try link.withLock { link throws(StoreError) in try body(&link) }
    }

    /// Writes in a transaction of its own, as the link does.
    package func write<Value: Sendable>(
        _ doing: String, _ body: (Link.Session) throws(Link.Failure) -> Value
    ) throws(StoreError) -> Value {
        try withLink { link throws(StoreError) in try link.write(doing, body) }
    }
}

/// A database for which no mapping is written yet.
extension SharedSession {
    /// The tables and views that a mapping may name, without the server's own and trueup's.
    ///
    /// - Returns: By name.
    /// - Throws: `StoreError` when they cannot be read.
    package func tables() throws(StoreError) -> [CompanyTableDescription] {
        try withLink { link throws(StoreError) in try link.mappableTables() }
    }

    /// Different texts among the first rows of a column.
    ///
    /// - Parameters:
    ///   - column: The company's.
    ///   - table: Where it is.
    /// - Returns: A few, in order.
    /// - Throws: `StoreError` when they cannot be read.
    package func words(
        of column: String, in table: CompanyTableName
    ) throws(StoreError) -> [String] {
        let sql = MappedStatements.words(of: column, in: table, for: Link.dialect)
        return try withLink { link throws(StoreError) in
            try link.read("reading the values of a column of \(table)") {
                session throws(Link.Failure) in
                try Link.rows(of: sql, in: session).compactMap { $0.first.flatMap(\.self) }
            }
        }
    }
}

/// How long a server is waited for that has answered before: for a restart or a fail-over.
///
/// The tries themselves take time as well: one that is not answered takes longer than a pause.
package struct Reconnection: Sendable {
    /// The pauses of a run before each further try: half a minute in all.
    ///
    /// A run whose books are on the server leaves no report without them.
    package static let pausesOfRun: [UInt32] = [500, 1000, 2000, 4000, 8000, 16000]

    private let pauses: [UInt32]
    private let patience: ServerPatience
    /// Whether the server has answered, and may be waited for when it does so no more: once.
    private var mayWait = false
    /// Since when the server is waited for; `nil` where it answers.
    private var unansweredSince: ContinuousClock.Instant?

    /// - Parameters:
    ///   - pauses: In milliseconds.
    ///   - patience: Ends the wait when a signal comes.
    package init(pauses: [UInt32], patience: ServerPatience) {
        self.pauses = pauses
        self.patience = patience
    }

    /// Notes that a session was opened.
    package mutating func isConnected() { mayWait = true }

    /// Notes that a transaction has ended as it should: the server is there.
    package mutating func isAnswered() { unansweredSince = nil }

    /// Pauses before another try to reach the server; not again once it was waited for in vain.
    ///
    /// - Parameter attempt: How many tries there were.
    /// - Returns: Whether to try again.
    package mutating func pause(afterAttempt attempt: Int) -> Bool {
        let since = unansweredSince ?? .now
        unansweredSince = since
        let longest = Duration.milliseconds(Int64(pauses.reduce(0) { $0 + UInt64($1) }))
        let left = ContinuousClock.now.duration(to: since + longest)
        guard mayWait, attempt > 0, attempt <= pauses.count, left > .zero, !patience.isGivenUp
        else {
            if mayWait, pauses == Self.pausesOfRun { patience.giveUp() }
            mayWait = false
            return false
        }
        let pause = min(pauses[attempt - 1], UInt32(max(1, left / .milliseconds(1))))
        guard patience.pause(milliseconds: pause) else {
            mayWait = false
            return false
        }
        return true
    }
}
