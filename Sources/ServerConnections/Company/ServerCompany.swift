package import Subscriptions
import Synchronization

/// The company's own table on a database server, read and written by its mapping.
///
/// Reads and writes are short, and nothing is kept between them but the session: a pooler or a
/// fail-over may be between.
package final class ServerCompany<Server: CompanyServer>: LeasedCompany {
    package let mapping: TableMapping
    /// The statements for the table of entitlements; `nil` where none is kept.
    let entitlementStatements: EntitlementStatements?
    let state: Mutex<State>

    struct State: Sendable {
        var server: Server
        var unit: CorrectionUnit?
        var precision = TimePrecision()
    }

    /// - Parameters:
    ///   - server: Where the table is.
    ///   - mapping: How the table is read and written.
    package init(_ server: Server, mapping: TableMapping) {
        self.mapping = mapping
        entitlementStatements = mapping.entitlements.map {
            EntitlementStatements($0, for: Server.dialect)
        }
        state = Mutex(State(server: server))
    }

    /// How often something was done again, because another transaction or the server was in the
    /// way.
    package var repetitions: Int { state.withLock { $0.server.repetitions } }

    /// How much of a second the mapped columns keep, as `check` found it.
    package var precision: TimePrecision { state.withLock(\.precision) }

    /// Changes how the server is worked with from now on.
    package func configure(_ body: (inout Server) -> Void) { state.withLock { body(&$0.server) } }

    /// Lets every transaction that writes from now on hold these leases: one for each app of the run.
    package func hold(_ fences: [LeaseFence]) { configure { $0.fences = fences } }

    /// Works with the server while no transaction is open.
    private func withServer<Value: Sendable>(
        _ body: (inout Server) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        try state.withLock { state throws(StoreError) in
            guard state.unit == nil else { throw UnitWork<Server>.openUnit }
            return try body(&state.server)
        }
    }
}

extension ServerCompany {
    /// Looks whether the mapping holds against the live schema.
    ///
    /// - Parameter mayWrite: Whether corrections will be written: then our ledger is prepared as
    ///   well.
    /// - Throws: `StoreError.schema`, naming the column.
    package func check(mayWrite: Bool) throws(StoreError) {
        let precision = try withServer { server throws(StoreError) in
            var precision = TimePrecision()
            for mapping in mapping.all {
                let held = try Self.held(mapping, mayWrite: mayWrite, &server)
                precision.digits.merge(held.digits) { first, _ in first }
            }
            if let obstacle = try obstacleToEntitlements(mayWrite: mayWrite, &server) {
                throw .schema(obstacle)
            }
            try server.prepareLedger(mayWrite: mayWrite)
            return precision
        }
        state.withLock { $0.precision = precision }
    }

    /// How much of a second the columns of one table keep, which holds what its mapping states.
    private static func held(
        _ mapping: TableMapping, mayWrite: Bool, _ server: inout Server
    ) throws(StoreError) -> TimePrecision {
        let place = server.place
        guard let table = try server.tables(named: mapping.table).first else {
            throw .schema(Server.missing(mapping, of: place))
        }
        let held = MappingCheck(mapping, against: table, for: Server.dialect)
        if let problem = held.problem(mayWrite: mayWrite) {
            throw .schema(
                "\(mapping.table) of \(place): \(problem); nothing was "
                    + "read or written. Adapt \(mapping.kind.setting) to the change, or undo it.")
        }
        if let obstacle = try server.obstacle(to: mapping.table, trying: []) {
            throw .schema(
                "\(mapping.table) of \(place): \(obstacle); nothing was read or written.")
        }
        return held.precision
    }

    /// The tables and views that the user may see, without the server's own and trueup's.
    ///
    /// - Returns: By name.
    /// - Throws: `StoreError` when they cannot be read.
    package func tables() throws(StoreError) -> [CompanyTableDescription] {
        try withServer { server throws(StoreError) in try server.tables(named: nil) }
    }

    /// Facts about the server, for `doctor`.
    ///
    /// - Returns: One line each.
    /// - Throws: `StoreError` when the server cannot be asked.
    package func facts() throws(StoreError) -> [String] {
        try withServer { server throws(StoreError) in try server.facts() }
    }

    /// The number that the query of `store.max_load` returns.
    ///
    /// - Parameter query: The company's.
    /// - Returns: The number.
    /// - Throws: `StoreError.schema` where it fails or returns no number.
    package func number(of query: String) throws(StoreError) -> Double {
        var said: String?
        do throws(StoreError) {
            let rows = try withServer { server throws(StoreError) in
                let reader = server
                return try server.read("running the query of store.max_load") {
                    session throws(Server.Failure) in
                    do throws(Server.Failure) {
                        let statement = MappedStatement(sql: query, arguments: [])
                        return try reader.run(statement, in: session).rows
                    } catch {
                        said = error.said
                        throw error
                    }
                }
            }
            return try LoadLimit.number(in: rows)
        } catch {
            throw LoadLimit.error(error, said: said)
        }
    }

    /// By how many seconds a replica is behind; infinite where replication does not run.
    ///
    /// - Returns: The seconds.
    /// - Throws: `StoreError.schema` where the server does not know it.
    package func replicationLag() throws(StoreError) -> Double {
        let lag = try withServer { server throws(StoreError) in
            let reader = server
            return try server.read("asking for the replication lag") {
                session throws(Server.Failure) in
                try reader.replicationLag(in: session)
            }
        }
        switch lag {
        case .seconds(let seconds): return seconds
        case .unknown(let fix):
            throw .schema(
                "`store.max_lag` cannot be kept: \(fix). Nothing was read or written.")
        }
    }

    /// Returns what keeps a run that writes from working there: it reads, and tries writes that
    /// change no row.
    ///
    /// - Returns: The obstacle and what to do; `nil` for none.
    /// - Throws: `StoreError` when the server cannot be asked.
    package func obstacleToLedger() throws(StoreError) -> String? {
        try withServer { server throws(StoreError) in try server.obstacleToLedger() }
    }

    /// Nothing is declared: the ledger keeps the entries of each books apart.
    package func adoptLedger(
        reason: String, by actor: String, at now: Timestamp
    ) throws(StoreError) -> String? { nil }
}

extension CompanyServer {
    /// - Parameters:
    ///   - mapping: It names the table.
    ///   - place: Where it was looked for.
    /// - Returns: A message.
    package static func missing(_ mapping: TableMapping, of place: String) -> String {
        "The database \(place) has no table or view \(mapping.table) that its user may see; nothing "
            + "was read or written. Adapt \(mapping.kind.setting).table, or grant the right."
    }
}

extension ServerCompany {
    /// The rows behind a key, in the order of the database.
    ///
    /// - Parameters:
    ///   - table: Which of the company's.
    ///   - cursor: The last row of the page before; `nil` from the beginning.
    ///   - limit: How many at most, unless more keys than that are the same to the database.
    ///   - apps: Whose rows; `nil` for all.
    /// - Returns: The page, with the cursor of its last row where there may be more.
    /// - Throws: `StoreError` when it cannot be read.
    package func rows(
        of table: MappedTable = .subscriptions, after cursor: CompanyCursor?, limit: Int,
        of apps: [AppIdentity]? = nil
    ) throws(StoreError) -> CompanyPage {
        guard let mapping = mapping.mapping(of: table) else {
            return CompanyPage(rows: [], next: nil)
        }
        return try state.withLock { state throws(StoreError) in
            let statements = try state.server.statements(for: mapping)
            var limit = limit
            while true {
                let found = try read(
                    "reading \(mapping.table)",
                    statements.page(after: cursor, limit: limit &+ 1, of: apps), by: mapping,
                    &state)
                guard statements.dialect == .mysql else {
                    return CompanyPage(of: found, limit: limit, by: statements)
                }
                let keys = found.map(statements.cursor)
                let isOne =
                    found.count > limit
                    && zip(keys, keys.dropFirst()).allSatisfy { statements.mayBeOne($0, $1) }
                // More rows that are the same to the database than a page has.
                if isOne, limit < Self.mostOfOneKey || Set(keys).count > 1 {
                    limit *= 4
                    continue
                }
                return CompanyPage(of: Self.gathered(found, keys), limit: limit, by: statements)
            }
        }
    }

    /// Of so many rows with one key the others are not counted.
    private static var mostOfOneKey: Int { 50_000 }

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
    /// - Parameters:
    ///   - table: Which of the company's.
    ///   - apps: Whose rows; `nil` for all.
    /// - Returns: How many, and which columns.
    /// - Throws: `StoreError` when they cannot be counted.
    package func keylessRows(
        of table: MappedTable = .subscriptions, of apps: [AppIdentity]? = nil
    ) throws(StoreError) -> KeylessRows {
        guard let mapping = mapping.mapping(of: table) else { return KeylessRows() }
        return try state.withLock { state throws(StoreError) in
            let statements = try state.server.statements(for: mapping)
            guard let statement = statements.keyless(of: apps) else { return KeylessRows() }
            let doing = "counting rows without a key in \(mapping.table)"
            return statements.keyless(of: try texts(doing, statement, &state).first)
        }
    }

    /// The row of a key as it is; `nil` for none.
    ///
    /// - Parameter key: In trueup's form.
    /// - Returns: The row.
    /// - Throws: `StoreError` when it cannot be read.
    package func row(_ key: SubscriptionKey) throws(StoreError) -> CompanyRow? {
        try state.withLock { state throws(StoreError) in
            let statements = try state.server.statements(for: mapping)
            guard let statement = statements.row(key), isPossible(key, by: statements) else {
                return nil
            }
            return try read("reading a row of \(mapping.table)", statement, by: mapping, &state)
                .first
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
            guard let statement = try state.server.statements(for: mapping).apps(besides: apps)
            else {
                return []
            }
            return try texts("looking for the apps of \(mapping.table)", statement, &state)
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
            let statements = try state.server.statements(for: mapping)
            guard let statement = statements.rows(holding: id, in: apps) else { return [] }
            return try read(
                "looking for rows of a subscription in \(mapping.table)", statement, by: mapping,
                &state
            ).map(statements.mapping.row)
        }
    }

    /// Whether the columns of the key can hold it at all: a server refuses a text that is not a
    /// number where it compares with one, or takes its beginning for a number.
    private func isPossible(_ key: SubscriptionKey, by statements: MappedStatements) -> Bool {
        statements.mapping.keyColumns.allSatisfy { part in
            let text = statements.part(part.field, of: key)
            guard part.form != .text else { return true }
            return !text.isEmpty && part.form.value(of: text, as: .text) != nil
        }
    }

    /// Rows of a mapped table.
    private func read(
        _ doing: String, _ statement: MappedStatement, by mapping: TableMapping,
        _ state: inout State
    ) throws(StoreError) -> [[String?]] {
        try texts(doing, statement, &state).map { state.server.texts(of: $0, by: mapping) }
    }

    private func texts(
        _ doing: String, _ statement: MappedStatement, _ state: inout State
    ) throws(StoreError) -> [[String?]] {
        let server = state.server
        return try read(doing, &state) { session throws(Server.Failure) in
            try server.run(statement, in: session).rows
        }
    }

    /// Reads by itself, or within the transaction that is open: a second one in the same session
    /// would commit it.
    private func read<Value: Sendable>(
        _ doing: String, _ state: inout State,
        _ body: (Server.Session) throws(Server.Failure) -> Value
    ) throws(StoreError) -> Value {
        guard state.unit != nil else { return try state.server.read(doing, body) }
        return try UnitWork(self, doing).read(&state, body)
    }
}

/// The company's table of entitlements, which `store.entitlements` names.
extension ServerCompany {
    /// The rows of the table of entitlements that a statement selects; none where no table is named.
    ///
    /// - Parameter select: Makes the statement.
    /// - Returns: The rows.
    /// - Throws: `StoreError` when they cannot be read.
    package func entitlements(
        _ select: (EntitlementStatements) -> MappedStatement
    ) throws(StoreError) -> [CompanyEntitlement] {
        guard let entitlements = entitlementStatements else { return [] }
        let statement = select(entitlements)
        return try state.withLock { state throws(StoreError) in
            let doing = "reading the entitlements in \(entitlements.name)"
            return entitlements.rows(of: try texts(doing, statement, &state))
        }
    }

    /// Returns what keeps a run from keeping entitlements in the table that `store.entitlements`
    /// names.
    ///
    /// - Parameter mayWrite: Whether corrections will be written.
    /// - Returns: The problem and what to do; `nil` for nothing, and where no table is named.
    /// - Throws: `StoreError` when the server cannot be asked.
    package func obstacleToEntitlements(mayWrite: Bool) throws(StoreError) -> String? {
        try withServer { server throws(StoreError) in
            try obstacleToEntitlements(mayWrite: mayWrite, &server)
        }
    }

    private func obstacleToEntitlements(
        mayWrite: Bool, _ server: inout Server
    ) throws(StoreError) -> String? {
        guard let entitlements = entitlementStatements else { return nil }
        let place = server.place
        let found = try server.tables(named: entitlements.name).first
        if let obstacle = entitlements.obstacle(in: found, of: place, mayWrite: mayWrite) {
            return obstacle
        }
        return try server.obstacle(
            to: entitlements.name, trying: mayWrite ? entitlements.trials : []
        ).map { "\(entitlements.name) of \(place): \($0); nothing was read or written." }
    }
}

extension ServerCompany {
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
            try entries(after: number, limit: limit, &state)
        }
    }

    private func entries(
        after number: Int64, limit: Int, _ state: inout State
    ) throws(StoreError) -> [CompanyLedgerEntry] {
        // A unit that is open was begun after the lost one was at its end.
        if state.unit == nil { try awaitEndOfLost(&state) }
        let server = state.server
        return try read("reading the ledger", &state) { session throws(Server.Failure) in
            try server.entries(after: number, limit: limit, in: session)
        }.compactMap { row in
            guard row.count == 5, let number = row[0].flatMap({ Int64($0) }),
                let digest = row[1], let run = row[2], let content = row[3],
                let written = row[4].flatMap({ Int64($0) })
            else { return nil }
            return CompanyLedgerEntry(
                number: number, digest: digest, run: run, content: content,
                writtenAt: Timestamp(unixMilliseconds: written))
        }
    }

    /// Whether our ledger there has an entry, once a commit without an answer is at its end.
    ///
    /// - Throws: `StoreError` where the server cannot be asked.
    func holds(_ entry: CompanyLedgerEntry, _ state: inout State) throws(StoreError) -> Bool {
        try entries(after: entry.number &- 1, limit: 1, &state).first?.digest == entry.digest
    }

    /// Waits until a transaction whose COMMIT was not answered is at its end, either way.
    ///
    /// A server that does not know it any more, as after a fail-over, cannot commit it any more.
    private func awaitEndOfLost(_ state: inout State) throws(StoreError) {
        let place = state.server.place
        for _ in 0..<Server.questionsAboutLost {
            if try state.server.isLostOneOver() { return }
            guard state.server.patience.pause(milliseconds: Server.pauseMilliseconds) else {
                throw .stopped(
                    "A signal ended the wait for a transaction whose answer was lost: the server "
                        + "\(place) still works on it. The next run checks it "
                        + "before anything else. \(Server.adviceOnLost)")
            }
        }
        throw .unavailable(
            "The server \(place) has not ended a transaction whose answer "
                + "was lost. The next run checks it before anything else. \(Server.adviceOnLost)")
    }
}

extension ServerCompany {
    /// Begins a transaction.
    ///
    /// - Throws: `StoreError.busy` where another worker has taken an app over.
    package func begin() throws(StoreError) {
        try state.withLock { state throws(StoreError) in
            guard state.unit == nil else { throw UnitWork<Server>.openUnit }
            try awaitEndOfLost(&state)
            try UnitWork(self, "beginning to write").begin(&state)
        }
    }

    /// Changes one row if it is as it was read; whatever became of it, the transaction continues.
    ///
    /// - Parameter change: In our columns and forms.
    /// - Returns: What became of it.
    /// - Throws: `StoreError` where the transaction cannot continue; nothing of it was written.
    package func write(_ change: CompanyChange) throws(StoreError) -> CompanyWriteFate {
        guard let mapping = mapping.mapping(of: change.table) else {
            return .refused("`\(change.table.setting)` names no table")
        }
        return try state.withLock { state throws(StoreError) in
            let statements = try state.server.statements(for: mapping)
            guard isPossible(change.key, by: statements) else {
                return change.action == .insert
                    ? .refused("the columns of the key cannot hold it") : .stale
            }
            return try UnitWork(self, "correcting a row").write(
                change.cut(to: state.precision), &state)
        }
    }

    /// Adds an entry to our ledger there; it is sent with the end of the transaction.
    ///
    /// - Parameter entry: As the books have it.
    /// - Throws: `StoreError.inconsistent` outside of a transaction.
    package func append(_ entry: CompanyLedgerEntry) throws(StoreError) {
        try state.withLock { state throws(StoreError) in
            guard state.unit != nil else { throw UnitWork<Server>.noUnit }
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
            UnitWork<Server>.giveUp(&state)
        }
    }
}
