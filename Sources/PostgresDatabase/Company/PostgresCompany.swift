import ServerConnections
package import Subscriptions
import Synchronization

/// The company's own table in PostgreSQL, read and written by its mapping.
///
/// Reads and writes are short transactions under limits of their own. Nothing is kept in the
/// session between them, so that PgBouncer may be between in transaction mode.
package final class PostgresCompany: Sendable {
    let statements: MappedStatements
    /// The statements for the table of entitlements; `nil` where none is kept.
    let entitlements: EntitlementStatements?
    /// Whose entries in the ledger are trueup's: several books may correct one database.
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
        entitlements = mapping.entitlements.map { EntitlementStatements($0, for: .postgresql) }
        self.books = books
        state = Mutex(State(keeper: SessionKeeper(connector, limits: limits)))
    }

    var mapping: TableMapping { statements.mapping }

    /// The leases that every transaction that writes from now on must still hold.
    ///
    /// - Parameter fences: One for each app of the run.
    package func hold(_ fences: [LeaseFence]) { state.withLock { $0.fences = fences } }

    /// How often a transaction was begun again that was in another's way.
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

    /// The row of a key as it is; `nil` for none.
    ///
    /// - Parameter key: In trueup's form.
    /// - Returns: The row.
    /// - Throws: `StoreError` when it cannot be read.
    package func row(_ key: SubscriptionKey) throws(StoreError) -> CompanyRow? {
        guard let statement = statements.row(key), isPossible(key) else { return nil }
        return try read("reading a row of \(mapping.table)", statement).first.map {
            mapping.row(of: $0)
        }
    }

    /// Returns the values of the columns that tell apps apart, in rows of other apps.
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

    /// Whether the columns of the key can hold it at all: the server refuses a text that is not a
    /// number where it compares with one.
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

    func texts(
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

extension PostgresCompany {
    /// Entries of our ledger there with higher numbers, in order; none where there is no ledger
    /// yet.
    ///
    /// After a commit without an answer it first waits until the server knows how that ended.
    ///
    /// - Parameters:
    ///   - number: The last number that is known.
    ///   - limit: How many at most.
    /// - Returns: The entries of these books.
    /// - Throws: `StoreError.unavailable` where the server cannot be asked.
    package func entries(
        after number: Int64, limit: Int
    ) throws(StoreError) -> [CompanyLedgerEntry] {
        try state.withLock { state throws(StoreError) in
            try Self.awaitEnd(ofLost: &state)
            return try self.read("reading the ledger", &state) { session throws(ServerFailure) in
                try self.entries(after: number, limit: limit, in: session)
            }
        }
    }

    /// Whether our ledger there has an entry, once a commit without an answer is at its end.
    ///
    /// - Throws: `StoreError` where the server cannot be asked.
    func holds(
        _ entry: CompanyLedgerEntry, _ state: inout State
    ) throws(StoreError) -> Bool {
        try Self.awaitEnd(ofLost: &state)
        return try read("reading the ledger", &state) { session throws(ServerFailure) in
            try entries(after: entry.number &- 1, limit: 1, in: session).first?.digest
                == entry.digest
        }
    }

    /// Nothing is declared: the ledger there keeps the entries of each books apart.
    ///
    /// - Parameters:
    ///   - reason: Why, for a caller that asks later.
    ///   - actor: Who declares it.
    ///   - now: When.
    /// - Returns: `nil`.
    /// - Throws: Nothing.
    package func adoptLedger(
        reason: String, by actor: String, at now: Timestamp
    ) throws(StoreError) -> String? { nil }

    private func entries(
        after number: Int64, limit: Int, in session: any ServerSession
    ) throws(ServerFailure) -> [CompanyLedgerEntry] {
        guard try session.run("SELECT to_regclass('trueup.ledger')", []).first != nil else {
            return []
        }
        let rows = try session.run(
            """
            SELECT number, digest, run_id, content, written_at FROM trueup.ledger
            WHERE books = $1 AND number > $2 ORDER BY number LIMIT $3
            """, [books, String(number), String(limit)]
        ).rows
        return rows.compactMap { row in
            guard row.count == 5, let number = row[0].flatMap({ Int64($0) }),
                let digest = row[1], let run = row[2], let content = row[3],
                let written = row[4].flatMap({ Int64($0) })
            else { return nil }
            return CompanyLedgerEntry(
                number: number, digest: digest, run: run, content: content,
                writtenAt: Timestamp(unixMilliseconds: written))
        }
    }

    /// The longest that a server is waited for that still works on a COMMIT.
    private static let patience = 150
    private static let pauseMilliseconds: UInt32 = 200

    /// Waits until a transaction whose COMMIT was not answered is at its end, either way.
    ///
    /// A server that does not know it any more, as after a fail-over, cannot commit it any more.
    private static func awaitEnd(ofLost state: inout State) throws(StoreError) {
        guard let lost = state.lost else { return }
        for _ in 0..<patience {
            let standing = try state.keeper.read("looking for the end of a transaction") {
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
            guard standing == "in progress" else {
                state.lost = nil
                return
            }
            guard state.keeper.connector.patience.pause(milliseconds: pauseMilliseconds) else {
                throw .stopped(
                    "A signal ended the wait for a transaction whose answer was lost: the server "
                        + "\(state.keeper.connector.address) still works on it. The next run checks it "
                        + "before anything else. End the session in pg_stat_activity if it does not "
                        + "end by itself.")
            }
        }
        throw .unavailable(
            "The server \(state.keeper.connector.address) has not ended a transaction whose answer "
                + "was lost. The next run checks it before anything else. End the session in "
                + "pg_stat_activity if it does not end by itself.")
    }
}

extension PostgresCompany {
    /// Begins a transaction.
    ///
    /// - Throws: `StoreError.busy` where another worker has taken an app over.
    package func begin() throws(StoreError) {
        try state.withLock { state throws(StoreError) in
            guard state.unit == nil else { throw UnitWork.openUnit }
            try UnitWork(self, "beginning to write").begin(&state)
        }
    }

    /// Changes one row if it is as it was read; whatever became of it, the transaction continues.
    ///
    /// - Parameter change: In our columns and forms.
    /// - Returns: What became of it.
    /// - Throws: `StoreError` where the transaction cannot continue; nothing of it was written.
    package func write(_ change: CompanyChange) throws(StoreError) -> CompanyWriteFate {
        guard isPossible(change.key) else {
            return change.action == .insert
                ? .refused("the columns of the key cannot hold it") : .stale
        }
        return try state.withLock { state throws(StoreError) in
            try UnitWork(self, "correcting a row").write(change.cut(to: state.precision), &state)
        }
    }

    /// Adds an entry to our ledger there; it is sent with the end of the transaction.
    ///
    /// - Parameter entry: As the books have it.
    /// - Throws: `StoreError.inconsistent` outside of a transaction.
    package func append(_ entry: CompanyLedgerEntry) throws(StoreError) {
        try state.withLock { state throws(StoreError) in
            guard state.unit != nil else { throw UnitWork.noUnit }
            state.unit?.entries.append(entry)
        }
    }

    /// Writes entitlements to the company's table of them, and commits.
    ///
    /// Where the connection is lost before the answer, the ledger there says how it ended, and what
    /// did not happen is done once more.
    ///
    /// - Parameter entitlements: Those that changed.
    /// - Returns: `.unknown` where the ledger could not be read after that, `.refused` where a
    ///   constraint that is checked last refuses it.
    /// - Throws: `StoreError` where nothing of the transaction was written.
    package func commit(
        keeping entitlements: [CompanyEntitlementChange] = []
    ) throws(StoreError) -> CommitOutcome {
        try state.withLock { state throws(StoreError) in
            state.unit?.entitlements = entitlements
            return try UnitWork(self, "committing corrections").commit(&state)
        }
    }

    /// Gives the transaction up; nothing happens where there is none.
    package func rollBack() {
        state.withLock { state in
            guard state.unit != nil else { return }
            UnitWork.giveUp(&state)
        }
    }
}

/// The work to do with the open transaction, and when a statement of it fails.
///
/// A failed statement ends a transaction of PostgreSQL. Where the failure is about one value, or
/// about another transaction that was in the way, it is begun again and its changes are made once
/// more: they must have the same outcomes as before, which were already returned.
struct UnitWork {
    let company: PostgresCompany
    let doing: String

    init(_ company: PostgresCompany, _ doing: String) {
        self.company = company
        self.doing = doing
    }

    static let openUnit = StoreError.inconsistent(
        "A transaction in the company's database was still open.")
    static let noUnit = StoreError.inconsistent(
        "No transaction is open in the company's database.")

    func begin(_ state: inout PostgresCompany.State) throws(StoreError) {
        var attempt = 1
        while true {
            do throws(ServerFailure) {
                let begun = try open(&state)
                state.unit = WriteUnit(transaction: begun)
                state.keeper.isAnswered()
                return
            } catch {
                try repeatOrThrow(error, attempt, &state)
                attempt += 1
            }
        }
    }

    func write(
        _ change: CompanyChange, _ state: inout PostgresCompany.State
    ) throws(StoreError) -> CompanyWriteFate {
        guard state.unit != nil else { throw Self.noUnit }
        while true {
            let fate: CompanyWriteFate
            do throws(ServerFailure) {
                fate = try statements(&state).write(change)
            } catch {
                try requireRights(after: error, &state)
                guard let words = Self.refusal(error) else {
                    try replay(after: error, &state)
                    continue
                }
                try replay(after: nil, &state)
                fate = .refused(words)
            }
            state.unit?.steps.append(WriteUnit.Step(change: change, fate: fate))
            return fate
        }
    }

    func read<Value: Sendable>(
        _ state: inout PostgresCompany.State,
        _ body: (any ServerSession) throws(ServerFailure) -> Value
    ) throws(StoreError) -> Value {
        while true {
            do throws(ServerFailure) {
                return try body(try session(&state))
            } catch {
                try replay(after: error, &state)
            }
        }
    }

    func commit(_ state: inout PostgresCompany.State) throws(StoreError) -> CommitOutcome {
        while let unit = state.unit {
            do throws(ServerFailure) {
                try statements(&state).append(unit.entries)
            } catch {
                guard error.state.meaning != .duplicate else {
                    Self.giveUp(&state)
                    throw otherBooks
                }
                try replay(after: error, &state)
                continue
            }
            do throws(ServerFailure) {
                if let words = try statements(&state).keep(unit.entitlements) {
                    Self.giveUp(&state)
                    return .refused(words)
                }
            } catch {
                if let words = Self.refusal(error) {
                    Self.giveUp(&state)
                    return .refused(company.entitlements?.refusal(words) ?? words)
                }
                try replay(after: error, &state)
                continue
            }
            do throws(ServerFailure) {
                let end = try session(&state).script("COMMIT")
                guard end.tag == "COMMIT" else {
                    throw ServerFailure(state: SQLState("25P02"), words: "answered \(end.tag)")
                }
                state.unit = nil
                state.keeper.isAnswered()
                return .committed
            } catch {
                guard !error.endsSession else {
                    // It may have been done: only the server knows.
                    state.lost = unit.transaction
                    state.unit = nil
                    state.keeper.drop()
                    guard let last = unit.entries.last,
                        let isThere = try? company.holds(last, &state)
                    else { return .unknown }
                    if isThere { return .committed }
                    state.unit = unit
                    try replay(after: error, &state)
                    continue
                }
                if let words = Self.refusalAtCommit(error) {
                    // A deferred constraint: which change broke it, the server does not say.
                    Self.giveUp(&state)
                    return .refused(words)
                }
                try replay(after: error, &state)
            }
        }
        throw Self.noUnit
    }

    static func giveUp(_ state: inout PostgresCompany.State) {
        state.unit = nil
        state.keeper.rollBack()
    }

    // MARK: Once more

    /// Begins the unit again and does what it had done, or gives it up.
    ///
    /// Without a failure one value was refused, which is not a reason to give up.
    private func replay(
        after failure: ServerFailure?, _ state: inout PostgresCompany.State
    ) throws(StoreError) {
        var failure = failure
        while var unit = state.unit {
            if let failure {
                try repeatOrThrow(failure, unit.attempts, &state)
                unit.attempts += 1
            } else {
                state.keeper.rollBack()
            }
            do throws(ServerFailure) {
                unit.transaction = try open(&state)
                for step in unit.steps where step.fate.isApplied {
                    let fate = try statements(&state).write(step.change)
                    guard fate == step.fate else {
                        throw ServerFailure(
                            state: SQLState("40001"),
                            words: "another program changed a row while it was corrected")
                    }
                }
                state.unit = unit
                return
            } catch {
                state.unit = unit
                failure = error
            }
        }
    }

    /// A refusal by a policy or a trigger is about one row; a right of the user's that is gone is
    /// about all, and ends the run.
    private func requireRights(
        after failure: ServerFailure, _ state: inout PostgresCompany.State
    ) throws(StoreError) {
        guard failure.state.meaning == .forbidden, !failure.endsSession else { return }
        state.keeper.rollBack()
        let problem: String?
        do throws(StoreError) {
            let table = try state.keeper.tables(named: company.mapping.table).first
            problem =
                table.map {
                    MappingCheck(company.mapping, against: $0, for: .postgresql)
                        .problem(mayWrite: true)
                }
                ?? "the user can no longer see it"
        } catch {
            state.unit = nil
            throw error
        }
        guard let problem else { return }
        state.unit = nil
        throw .schema(
            "\(company.mapping.table) of \(state.keeper.connector.address): \(problem). A right was "
                + "withdrawn during the run. Nothing of this step was written; what was committed "
                + "before is kept and reported. Grant the right again and run the job again: it "
                + "continues where it stopped.")
    }

    /// Waits before another attempt; throws where none may help, with the unit given up.
    private func repeatOrThrow(
        _ failure: ServerFailure, _ attempt: Int, _ state: inout PostgresCompany.State
    ) throws(StoreError) {
        if !failure.endsSession { state.keeper.rollBack() }
        guard state.keeper.mayRepeat(after: failure, attempt: attempt) else {
            state.unit = nil
            throw StoreError(failure, doing: doing, at: state.keeper.connector.address)
        }
    }

    private func open(_ state: inout PostgresCompany.State) throws(ServerFailure) -> String {
        let fences = state.fences
        let begun = try statements(&state).begin(holding: fences)
        guard let lost = begun.lost else { return begun.transaction }
        throw ServerFailure(state: .fenced, words: lost.description)
    }

    private var otherBooks: StoreError {
        .schema(
            "The ledger in the company's database has an entry that trueup's database lacks. Nothing of "
                + "this step was written. trueup's database was restored to an earlier state: declare "
                + "that with `trueup restored --reason TEXT` (\(DocumentationPage.backup)).")
    }

    /// Returns why this one change is not made; `nil` where the failure is another.
    private static func refusal(_ failure: ServerFailure) -> String? {
        guard !failure.endsSession else { return nil }
        if failure.isOfOneRow {
            return failure.state == .notKept
                ? failure.words : "\(failure.state): \(failure.words)"
        }
        // What was asked before the write was asked about this row as well. A right that is missing
        // to read is missing for every row.
        return switch failure.state.meaning {
        case .value, .duplicate: "\(failure.state): \(failure.words)"
        default: nil
        }
    }

    /// The server's words where it refuses at COMMIT what a change did: a deferred constraint or
    /// trigger, which may fail in any way.
    private static func refusalAtCommit(_ failure: ServerFailure) -> String? {
        guard failure.state.mayBeOfOneRow, failure.state.meaning != .unavailable else { return nil }
        return "\(failure.state): \(failure.words)"
    }

    private func session(
        _ state: inout PostgresCompany.State
    ) throws(ServerFailure) -> any ServerSession {
        do throws(StoreError) {
            return try state.keeper.current(for: doing)
        } catch {
            let isStopped = if case .stopped = error { true } else { false }
            throw ServerFailure(
                state: isStopped ? .stopped : SQLState(""), endsSession: true, words: "\(error)")
        }
    }

    private func statements(
        _ state: inout PostgresCompany.State
    ) throws(ServerFailure) -> UnitStatements {
        UnitStatements(
            session: try session(&state), statements: company.statements,
            entitlements: company.entitlements, books: company.books, limits: state.keeper.limits)
    }
}

extension CompanyWriteFate {
    fileprivate var isApplied: Bool {
        if case .applied = self { true } else { false }
    }
}
