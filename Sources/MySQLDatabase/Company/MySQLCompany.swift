package import Subscriptions
import Synchronization

/// The company's own table in MySQL or MariaDB, read and written by its mapping.
///
/// trueup's database is a file elsewhere; here are only the rows and, in the same database, the
/// ledger of their corrections.
package final class MySQLCompany: Sendable {
    let mapping: TableMapping
    /// The statements for the table of entitlements; `nil` where none is kept.
    let entitlementStatements: EntitlementStatements?
    /// The books that correct it; `nil` for a look that takes no side.
    let books: LedgerOwner?
    let state: Mutex<State>

    struct State: Sendable {
        var link: MySQLLink
        var unit: CorrectionUnit?
        /// The number of an entry in the transaction whose COMMIT was not answered.
        var lost: Int64?
        var precision = TimePrecision()
        /// Made once the types of the columns are known.
        var statements: MappedStatements?
    }

    /// - Parameters:
    ///   - connector: Opens sessions.
    ///   - mapping: How the table is read and written.
    ///   - books: The books that correct it; `nil` for a look that takes no side.
    ///   - limits: How long a statement may take and wait.
    package init(
        _ connector: MySQLConnector, mapping: TableMapping, books: LedgerOwner? = nil,
        limits: MySQLLimits = MySQLLimits()
    ) {
        self.mapping = mapping
        self.books = books
        entitlementStatements = mapping.entitlements.map {
            EntitlementStatements($0, for: .mysql)
        }
        state = Mutex(State(link: MySQLLink(connector, limits: limits)))
    }

    /// How often something was done again, because another transaction or the server was in the
    /// way.
    package var repetitions: Int { state.withLock { $0.link.repetitions } }

    /// How much of a second the mapped columns keep, as `check` found it.
    package var precision: TimePrecision { state.withLock(\.precision) }
}

extension MySQLCompany {
    /// Looks whether the mapping holds against the live schema.
    ///
    /// - Parameter mayWrite: Whether corrections will be written: then our ledger is prepared as
    ///   well.
    /// - Throws: `StoreError.schema`, naming the column.
    package func check(mayWrite: Bool) throws(StoreError) {
        try state.withLock { state throws(StoreError) in
            guard state.unit == nil else { throw UnitWork.openUnit }
            let place = "\(state.link.connector.address)"
            let facts = try facts(&state)
            if let obstacle = facts.obstacleToReading {
                throw .schema("The server of \(place): \(obstacle). Nothing was read or written.")
            }
            state.statements = nil
            let table = try describe(&state)
            let held = MappingCheck(mapping, against: table, for: .mysql)
            if let problem = held.problem(mayWrite: mayWrite) {
                throw .schema(
                    "\(mapping.table) of \(place): \(problem); nothing was "
                        + "read or written. Adapt store.subscriptions to the change, or undo it.")
            }
            if let obstacle = try obstacleToEntitlements(mayWrite: mayWrite, &state) {
                throw .schema(obstacle)
            }
            state.precision = held.precision
            try refuseOtherBooks(&state)
            guard mayWrite else { return }
            if let obstacle = facts.obstacleToWriting {
                throw .unavailable(
                    "The server of \(place): \(obstacle). Nothing was read or written. Then run the "
                        + "job again.")
            }
            let ofEngine = try obstacleOfEngine(&state)
            if let obstacle = facts.obstacleOfLog ?? ofEngine {
                throw .schema("The server of \(place): \(obstacle). Nothing was read or written.")
            }
            try makeLedger(&state)
        }
    }

    /// The mapped table as the server describes it; its types decide how it is read.
    @discardableResult
    private func describe(_ state: inout State) throws(StoreError) -> CompanyTableDescription {
        guard let table = try state.link.tables(named: mapping.table).first else {
            throw .schema(
                "The database \(state.link.connector.address) has no table or view "
                    + "\(mapping.table) that its user may see; nothing was read or written. "
                    + "Adapt store.subscriptions.table, or grant the right.")
        }
        var read = mapping
        // A point in time, which every session reads by the clock of UTC.
        for (field, mapped) in mapping.columns {
            guard case .column(let name, .timestamptz) = mapped,
                table.column(name)?.type.hasPrefix("timestamp") == true
            else { continue }
            read.columns[field] = .column(name, .timestamp(LocalClock(minutesEast: 0)))
        }
        state.statements = MappedStatements(read, for: .mysql)
        return table
    }

    /// The statements for the table; its types are looked up first where they are not known.
    func statements(_ state: inout State) throws(StoreError) -> MappedStatements {
        if let known = state.statements { return known }
        try describe(&state)
        return state.statements ?? MappedStatements(mapping, for: .mysql)
    }

    private func facts(_ state: inout State) throws(StoreError) -> ServerFacts {
        try state.link.perform("asking for the server's version") { session throws(MySQLFailure) in
            try ServerFacts(session)
        }
    }

    /// Rows and their entries belong to one transaction, which only InnoDB has.
    private func obstacleOfEngine(_ state: inout State) throws(StoreError) -> String? {
        for name in [mapping.table, mapping.entitlements].compactMap(\.self) {
            guard let engine = try state.link.engine(of: name), engine != "InnoDB" else { continue }
            let table = MappedStatements(TableMapping(table: name, columns: [:]), for: .mysql).table
            return "\(name) has the engine \(engine), which has no transactions: run ALTER TABLE "
                + "\(table) ENGINE = InnoDB, or set mode: check"
        }
        return nil
    }

    /// The tables and views of the database of the URL, and the mapped one where that is in
    /// another.
    ///
    /// - Returns: By name.
    /// - Throws: `StoreError` when they cannot be read.
    package func tables() throws(StoreError) -> [CompanyTableDescription] {
        try state.withLock { state throws(StoreError) in
            guard state.unit == nil else { throw UnitWork.openUnit }
            let named =
                mapping.table.schema == nil ? [] : try state.link.tables(named: mapping.table)
            return named + (try state.link.tables())
        }
    }

    /// Facts about the server, for `doctor`.
    ///
    /// - Returns: One line each.
    /// - Throws: `StoreError` when the server cannot be asked.
    package func facts() throws(StoreError) -> [String] {
        try state.withLock { state throws(StoreError) in
            let facts = try facts(&state)
            let engine = try state.link.engine(of: mapping.table)
            return [facts.line + (engine.map { "; the engine of \(mapping.table) is \($0)" } ?? "")]
        }
    }

    /// Returns what keeps a run that writes from working there: it reads, and tries writes that
    /// change no row.
    ///
    /// - Returns: The obstacle and what to do; `nil` for none.
    /// - Throws: `StoreError` when the server cannot be asked.
    package func obstacleToLedger() throws(StoreError) -> String? {
        try state.withLock { state throws(StoreError) in
            guard state.unit == nil else { throw UnitWork.openUnit }
            let facts = try facts(&state)
            if let obstacle = facts.obstacleToWriting ?? facts.obstacleOfLog { return obstacle }
            if let obstacle = try obstacleOfEngine(&state) { return obstacle }
            if let obstacle = try obstacleToMakingLedger(&state) { return obstacle }
            let trials = try statements(&state).trials + (entitlementStatements?.trials ?? [])
            return try obstacle(toTrying: trials, &state)
        }
    }

    /// Rights that are listed are no proof, where the server may only be read.
    func obstacle(
        toTrying statements: [String], _ state: inout State
    ) throws(StoreError) -> String? {
        try state.link.perform("trying the rights") { session throws(MySQLFailure) in
            try session.execute("START TRANSACTION")
            defer { try? session.execute("ROLLBACK") }
            for statement in statements {
                do throws(MySQLFailure) {
                    try session.execute(statement)
                } catch {
                    guard !error.endsSession,
                        ![.locked, .again, .tooSlow, .full].contains(error.meaning)
                    else { throw error }
                    let what = statement.split(separator: " ").prefix(3).joined(separator: " ")
                    return "\(what) is refused (\(error.said)). The user needs the rights that "
                        + "docs/mysql.md lists"
                }
            }
            return nil
        }
    }
}

extension MySQLCompany {
    /// The rows behind a key, in the order of the database.
    ///
    /// - Parameters:
    ///   - cursor: The last row of the page before; `nil` from the beginning.
    ///   - limit: How many at most, unless more keys than that are the same to the database.
    ///   - apps: Whose rows; `nil` for all.
    /// - Returns: The page, with the cursor of its last row where there may be more.
    /// - Throws: `StoreError` when it cannot be read.
    package func rows(
        after cursor: CompanyCursor?, limit: Int, of apps: [AppIdentity]? = nil
    ) throws(StoreError) -> CompanyPage {
        try state.withLock { state throws(StoreError) in
            let statements = try statements(&state)
            var limit = limit
            while true {
                let statement = statements.page(after: cursor, limit: limit &+ 1, of: apps)
                let found = try read("reading \(mapping.table)", statement, &state)
                let keys = found.map(statements.cursor)
                let isOne =
                    found.count > limit
                    && zip(keys, keys.dropFirst()).allSatisfy { statements.mayBeOne($0, $1) }
                // More rows that are the same to the database than a page has.
                if isOne, limit < Self.mostOfOneKey || Set(keys).count > 1 {
                    limit *= 4
                    continue
                }
                return CompanyPage(
                    of: Self.gathered(found, keys), limit: limit, by: statements)
            }
        }
    }

    /// Of so many rows with one key the others are not counted.
    private static let mostOfOneKey = 50_000

    /// The rows with those of one key next to each other: the database gives keys that it takes for
    /// one in no order.
    private static func gathered(_ rows: [[String?]], _ keys: [CompanyCursor]) -> [[String?]] {
        var places: [CompanyCursor: Int] = [:]
        var gathered: [[[String?]]] = []
        for (row, key) in zip(rows, keys) {
            if let place = places[key] {
                gathered[place].append(row)
            } else {
                places[key] = gathered.count
                gathered.append([row])
            }
        }
        return gathered.flatMap(\.self)
    }

    /// The rows that no key leads to, because a column of it is NULL.
    ///
    /// - Parameter apps: Whose rows; `nil` for all.
    /// - Returns: How many, and which columns.
    /// - Throws: `StoreError` when they cannot be counted.
    package func keylessRows(
        of apps: [AppIdentity]? = nil
    ) throws(StoreError) -> KeylessRows {
        try state.withLock { state throws(StoreError) in
            let statements = try statements(&state)
            guard let statement = statements.keyless(of: apps) else { return KeylessRows() }
            return statements.keyless(
                of: try read(
                    "counting rows without a key in \(mapping.table)", statement, &state
                ).first)
        }
    }

    /// The row of a key as it is; `nil` for none.
    ///
    /// - Parameter key: In trueup's form.
    /// - Returns: The row.
    /// - Throws: `StoreError` when it cannot be read.
    package func row(_ key: SubscriptionKey) throws(StoreError) -> CompanyRow? {
        try state.withLock { state throws(StoreError) in
            let statements = try statements(&state)
            guard let statement = statements.row(key), isPossible(key) else { return nil }
            return try read("reading a row of \(mapping.table)", statement, &state).first
                .map(statements.mapping.row)
        }
    }

    /// Returns the values of the columns that tell apps apart, in rows of other apps.
    ///
    /// - Parameter apps: Those that are read.
    /// - Returns: Each combination once.
    /// - Throws: `StoreError` when they cannot be read.
    package func apps(besides apps: [AppIdentity]) throws(StoreError) -> [[String?]] {
        try state.withLock { state throws(StoreError) in
            guard let statement = try statements(&state).apps(besides: apps) else { return [] }
            return try read("looking for the apps of \(mapping.table)", statement, &state)
        }
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
        try state.withLock { state throws(StoreError) in
            let statements = try statements(&state)
            guard let statement = statements.rows(holding: id, in: apps) else { return [] }
            return try read(
                "looking for rows of a subscription in \(mapping.table)", statement, &state
            ).map(statements.mapping.row)
        }
    }

    /// Whether the columns of the key can hold it at all: the server takes the beginning of a text
    /// for a number where it compares the two.
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
        _ doing: String, _ statement: MappedStatement, _ state: inout State
    ) throws(StoreError) -> [[String?]] {
        try read(doing, &state) { session throws(MySQLFailure) in
            try session.run(statement.sql, statement.arguments).rows
        }
    }

    /// Reads by itself, or within the transaction that is open.
    func read<Value: Sendable>(
        _ doing: String, _ state: inout State,
        _ body: (any MySQLSession) throws(MySQLFailure) -> Value
    ) throws(StoreError) -> Value {
        guard state.unit != nil else { return try state.link.perform(doing, body) }
        return try UnitWork(self, doing).read(&state, body)
    }
}

/// The company's table of entitlements, which `store.entitlements` names.
extension MySQLCompany {
    /// The entitlements behind a key, in the order of the database; none where no table is named.
    ///
    /// - Parameters:
    ///   - last: The last one of the page before; `nil` from the beginning.
    ///   - limit: How many at most.
    ///   - apps: Whose; `nil` for all.
    /// - Returns: The rows.
    /// - Throws: `StoreError` when they cannot be read.
    package func entitlements(
        after last: StoredEntitlement.Key?, limit: Int, of apps: [AppIdentity]?
    ) throws(StoreError) -> [CompanyEntitlement] {
        try entitlements { $0.page(after: last, limit: limit, of: apps) }
    }

    /// The entitlements of these keys that the table has.
    ///
    /// - Parameter keys: In any order.
    /// - Returns: The rows.
    /// - Throws: `StoreError` when they cannot be read.
    package func entitlements(
        of keys: [StoredEntitlement.Key]
    ) throws(StoreError) -> [CompanyEntitlement] {
        keys.isEmpty ? [] : try entitlements { $0.rows(of: keys) }
    }

    /// The entitlements of one customer.
    ///
    /// - Parameter customer: The `customer_id`.
    /// - Returns: The rows.
    /// - Throws: `StoreError` when they cannot be read.
    package func entitlements(
        ofCustomer customer: String
    ) throws(StoreError) -> [CompanyEntitlement] {
        try entitlements { $0.rows(ofCustomer: customer) }
    }

    private func entitlements(
        _ query: (EntitlementStatements) -> MappedStatement
    ) throws(StoreError) -> [CompanyEntitlement] {
        guard let entitlements = entitlementStatements else { return [] }
        let statement = query(entitlements)
        return try state.withLock { state throws(StoreError) in
            entitlements.rows(
                of: try read("reading the entitlements in \(entitlements.name)", statement, &state))
        }
    }

    /// Returns what keeps a run from keeping entitlements in the table that `store.entitlements`
    /// names.
    ///
    /// - Parameter mayWrite: Whether corrections will be written.
    /// - Returns: The problem and what to do; `nil` for nothing, and where no table is named.
    /// - Throws: `StoreError` when the server cannot be asked.
    package func obstacleToEntitlements(mayWrite: Bool) throws(StoreError) -> String? {
        try state.withLock { state throws(StoreError) in
            guard state.unit == nil else { throw UnitWork.openUnit }
            return try obstacleToEntitlements(mayWrite: mayWrite, &state)
        }
    }

    private func obstacleToEntitlements(
        mayWrite: Bool, _ state: inout State
    ) throws(StoreError) -> String? {
        guard let entitlements = entitlementStatements else { return nil }
        let place = "\(state.link.connector.address)"
        let found = try state.link.tables(named: entitlements.name).first
        if let obstacle = entitlements.obstacle(in: found, of: place, mayWrite: mayWrite) {
            return obstacle
        }
        guard mayWrite else { return nil }
        return try obstacle(toTrying: entitlements.trials, &state).map {
            "\(entitlements.name) of \(place): \($0); nothing was read or written."
        }
    }
}

extension MySQLCompany {
    /// Begins a transaction.
    ///
    /// - Throws: `StoreError` where the server cannot be written.
    package func begin() throws(StoreError) {
        try state.withLock { state throws(StoreError) in
            guard state.unit == nil else { throw UnitWork.openUnit }
            _ = try statements(&state)
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
    /// - Returns: `.unknown` where the ledger could not be read after that.
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
