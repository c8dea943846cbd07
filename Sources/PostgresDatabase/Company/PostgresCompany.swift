package import Subscriptions
import Synchronization

/// The company's own table in PostgreSQL, read and written by its mapping.
///
/// Reads and writes are short transactions under limits of their own. Nothing is kept in the session
/// between them, so that PgBouncer may stand between in transaction mode.
package final class PostgresCompany: Sendable {
    let statements: MappedStatements
    /// Whose entries in the ledger are ours: several books may correct one database.
    let books: String
    let state: Mutex<State>

    struct State: Sendable {
        var keeper: SessionKeeper
        var unit: WriteUnit?
        /// The transaction whose COMMIT was not answered.
        var lost: String?
        var fences: [LeaseFence] = []
        var precision = TimePrecision()
    }

    /// - Parameters:
    ///   - connector: Opens sessions.
    ///   - mapping: How the table is read and written.
    ///   - books: The identity of the books that the corrections belong to.
    ///   - limits: How long a statement may take and wait.
    package init(
        _ connector: PostgresConnector, mapping: TableMapping, books: String,
        limits: SessionLimits = SessionLimits()
    ) {
        statements = MappedStatements(mapping, for: .postgresql)
        self.books = books
        state = Mutex(State(keeper: SessionKeeper(connector, limits: limits)))
    }

    var mapping: TableMapping { statements.mapping }

    /// The leases that every transaction that writes from now on must still hold.
    ///
    /// - Parameter fences: One for each app of the run.
    package func hold(_ fences: [LeaseFence]) { state.withLock { $0.fences = fences } }

    /// How often a transaction was begun again that stood in another's way.
    package var repetitions: Int { state.withLock { $0.keeper.repetitions } }
}

extension PostgresCompany {
    /// The rows behind a key, in the order of the database.
    ///
    /// - Parameters:
    ///   - cursor: The last row of the page before; `nil` from the beginning.
    ///   - limit: How many at most.
    ///   - apps: Whose rows; `nil` for all.
    /// - Returns: The page, with the cursor of its last row where there may be more.
    /// - Throws: `StoreError` when it cannot be read.
    package func rows(
        after cursor: CompanyCursor?, limit: Int, of apps: [AppIdentity]? = nil
    ) throws(StoreError) -> CompanyPage {
        let statement = statements.page(after: cursor, limit: limit &+ 1, of: apps)
        let rows = try read("reading \(mapping.table)", statement)
        return CompanyPage(of: rows, limit: limit, by: statements)
    }

    /// The rows that no key leads to, because a column of it is NULL.
    ///
    /// - Parameter apps: Whose rows; `nil` for all.
    /// - Returns: How many, and which columns.
    /// - Throws: `StoreError` when they cannot be counted.
    package func keylessRows(
        of apps: [AppIdentity]? = nil
    ) throws(StoreError) -> KeylessRows {
        guard let statement = statements.keyless(of: apps) else { return KeylessRows() }
        return statements.keyless(
            of: try read("counting rows without a key in \(mapping.table)", statement).first)
    }

    /// The row of a key as it stands; `nil` for none.
    ///
    /// - Parameter key: Ours.
    /// - Returns: The row.
    /// - Throws: `StoreError` when it cannot be read.
    package func row(_ key: SubscriptionKey) throws(StoreError) -> CompanyRow? {
        guard let statement = statements.row(key), isPossible(key) else { return nil }
        return try read("reading a row of \(mapping.table)", statement).first.map {
            mapping.row(of: $0)
        }
    }

    /// What the columns that tell apps apart hold in rows of other apps.
    ///
    /// - Parameter apps: Those that are read.
    /// - Returns: Each combination once.
    /// - Throws: `StoreError` when they cannot be read.
    package func apps(besides apps: [AppIdentity]) throws(StoreError) -> [[String?]] {
        guard let statement = statements.apps(besides: apps) else { return [] }
        return try texts("looking for the apps of \(mapping.table)", statement)
    }

    /// The rows with an original transaction id under some apps.
    ///
    /// - Parameters:
    ///   - id: The original transaction id.
    ///   - apps: As `apps(besides:)` found them.
    /// - Returns: The rows.
    /// - Throws: `StoreError` when they cannot be read.
    package func rows(
        holding id: String, in apps: [[String?]]
    ) throws(StoreError) -> [CompanyRow] {
        guard let statement = statements.rows(holding: id, in: apps) else { return [] }
        return try read("looking for rows of a subscription in \(mapping.table)", statement)
            .map { mapping.row(of: $0) }
    }

    /// Whether the columns of the key can hold it at all: the server refuses a text that is no number
    /// where it compares with one.
    func isPossible(_ key: SubscriptionKey) -> Bool {
        mapping.keyColumns.allSatisfy { part in
            let text =
                switch part.field {
                case .bundleID: key.bundleID
                case .environment: key.environment
                default: key.originalTransactionID
                }
            guard part.form != .text else { return true }
            return !text.isEmpty && part.form.value(of: text, as: .text) != nil
        }
    }

    private func read(
        _ doing: String, _ statement: MappedStatement
    ) throws(StoreError) -> [[String?]] {
        try texts(doing, statement).map(JSONMembers(mapping).texts)
    }

    private func texts(
        _ doing: String, _ statement: MappedStatement
    ) throws(StoreError) -> [[String?]] {
        try state.withLock { state throws(StoreError) in
            try self.read(doing, &state) { session throws(ServerFailure) in
                try session.run(statement.sql, statement.parameters).rows
            }
        }
    }

    /// Reads in a transaction of its own, or within the one that is open: a second one in the same
    /// session would commit it.
    func read<Value: Sendable>(
        _ doing: String, _ state: inout State,
        _ body: (any ServerSession) throws(ServerFailure) -> Value
    ) throws(StoreError) -> Value {
        guard state.unit != nil else { return try state.keeper.read(doing, body) }
        return try UnitWork(self, doing).read(&state, body)
    }
}

extension MappedStatement {
    /// The values to bind, as PostgreSQL reads text.
    var parameters: [String?] {
        arguments.map { argument in
            switch argument {
            case .null: nil
            case .text(let text): text
            case .integer(let number): String(number)
            case .boolean(let truth): truth ? "t" : "f"
            }
        }
    }
}
