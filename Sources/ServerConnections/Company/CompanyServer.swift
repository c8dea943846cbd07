package import Subscriptions

/// A kind of database server in which a company keeps its own table.
///
/// A new kind implements these methods; `ServerCompany` does everything else with them: pages,
/// look-ups, units of corrections with their entries, and entitlements. All methods block.
package protocol CompanyServer: Sendable {
    /// One connection.
    associatedtype Session
    associatedtype Failure: ServerFault

    /// The server and the database, for messages.
    var place: String { get }
    var patience: ServerPatience { get }
    /// How often something was done again, because another transaction or the server was in the way.
    var repetitions: Int { get }
    static var dialect: MappedStatements.Dialect { get }
    /// Whether a failed statement leaves its transaction open.
    ///
    /// Then a row is locked before it is compared. Otherwise a transaction is begun again after a
    /// change that is refused.
    static var hasSavepoints: Bool { get }
    /// How often a server is asked about a transaction whose COMMIT was not answered.
    static var questionsAboutLost: Int { get }
    /// The pause between two of them; 0 where the question itself waits.
    static var pauseMilliseconds: UInt32 { get }
    /// How a person ends a transaction that does not end by itself.
    static var adviceOnLost: String { get }
    /// The leases that every transaction which begins must still hold: one for each app of the run.
    var fences: [LeaseFence] { get set }

    /// The statements for a mapped table; known from the types of its columns where they decide.
    ///
    /// - Parameter mapping: Of one table.
    /// - Returns: Its statements.
    /// - Throws: Where the types cannot be read.
    mutating func statements(for mapping: TableMapping) throws(StoreError) -> MappedStatements

    /// The session in use, opened again where the last one was lost.
    mutating func session(for doing: String) throws(Failure) -> Session

    /// Runs one statement.
    func run(
        _ statement: MappedStatement, in session: Session
    ) throws(Failure) -> (rows: [[String?]], affected: Int)

    /// Reads in a transaction of its own, or without one, and again where that may help.
    mutating func read<Value: Sendable>(
        _ doing: String, _ body: (Session) throws(Failure) -> Value
    ) throws(StoreError) -> Value

    /// Begins a transaction that may write; a server that may only be read is a failure.
    mutating func begin(in session: Session) throws(Failure)

    /// Commits. A failure that `endsSession` leaves open whether it was done; then the server
    /// remembers the transaction until `isLostOneOver`.
    ///
    /// - Parameters:
    ///   - entry: The number of the last entry in the transaction.
    ///   - session: The one in use.
    /// - Throws: What the server said.
    mutating func commit(upTo entry: Int64?, in session: Session) throws(Failure)

    /// Ends the open transaction, if there is any, without what it wrote.
    mutating func rollBack()

    /// Whether no transaction is left whose COMMIT was not answered; looks once, over a new
    /// connection.
    mutating func isLostOneOver() throws(StoreError) -> Bool

    /// Whether the same may be tried again after a failure; waits a little before it says so.
    mutating func mayRepeat(after failure: Failure, attempt: Int) -> Bool

    /// The statement that adds entries to the ledger.
    func insertion(of entries: [CompanyLedgerEntry]) -> MappedStatement

    /// Entries of these books with higher numbers, in order: number, digest, run, content and time.
    ///
    /// - Returns: Nothing where there is no ledger yet.
    func entries(
        after number: Int64, limit: Int, in session: Session
    ) throws(Failure) -> [[String?]]

    /// Tables and views as the server describes them; without a name all that the user may see.
    mutating func tables(
        named name: CompanyTableName?
    ) throws(StoreError) -> [CompanyTableDescription]

    /// Returns what keeps a run from reading a table, or from statements that change no row.
    mutating func obstacle(
        to table: CompanyTableName, trying statements: [String]
    ) throws(StoreError) -> String?

    /// Throws where the ledger is that of other books; makes it where a run writes.
    mutating func prepareLedger(mayWrite: Bool) throws(StoreError)

    /// Returns what keeps a run from making the ledger and from writing; it only reads.
    mutating func obstacleToLedger() throws(StoreError) -> String?

    /// By how many seconds a replica is behind; infinite where replication does not run.
    ///
    /// - Returns: The seconds, or a sentence where the server does not know them.
    /// - Throws: What the server said.
    func replicationLag(in session: Session) throws(Failure) -> ReplicationLag

    // Those below have defaults.

    /// The texts of `TableMapping.readColumns` in a row as the server returned it.
    func texts(of row: [String?], by mapping: TableMapping) -> [String?]

    /// Facts about the server, for `doctor`.
    mutating func facts() throws(StoreError) -> [String]
}

extension CompanyServer {
    package func texts(of row: [String?], by mapping: TableMapping) -> [String?] { row }

    package mutating func facts() throws(StoreError) -> [String] { [] }
}

/// The answer to the question how far replicas are behind.
package enum ReplicationLag: Hashable, Sendable {
    case seconds(Double)
    /// The server does not know it; with the fix.
    case unknown(String)
}
