import Subscriptions

/// An open transaction of corrections, with all that is needed to begin it again.
struct CorrectionUnit: Sendable {
    /// The changes that were written, with the fate that was returned for each.
    var steps: [(change: CompanyChange, fate: CompanyWriteFate)] = []
    var entries: [CompanyLedgerEntry] = []
    var entitlements: [CompanyEntitlementChange] = []
    var attempts = 1
}

/// The work to do with the open transaction, and when a statement of it fails.
///
/// Where the failure is about one value, or about another transaction that was in the way, it is
/// begun again and its changes are made once more, unless a savepoint keeps them: they must have
/// the same outcomes as before, which were already returned.
struct UnitWork<Server: CompanyServer> {
    typealias State = ServerCompany<Server>.State
    typealias Failure = Server.Failure

    let company: ServerCompany<Server>
    let doing: String

    init(_ company: ServerCompany<Server>, _ doing: String) {
        self.company = company
        self.doing = doing
    }

    static var openUnit: StoreError {
        .inconsistent("A transaction in the company's database was still open.")
    }
    static var noUnit: StoreError {
        .inconsistent("No transaction is open in the company's database.")
    }

    func begin(_ state: inout State) throws(StoreError) {
        // The types of columns are looked at before the transaction.
        for mapping in company.mapping.all {
            _ = try state.server.statements(for: mapping)
        }
        var attempt = 1
        while true {
            do throws(Failure) {
                try open(&state)
                state.unit = CorrectionUnit()
                return
            } catch {
                try repeatOrThrow(error, attempt, &state)
                attempt += 1
            }
        }
    }

    func write(
        _ change: CompanyChange, _ state: inout State
    ) throws(StoreError) -> CompanyWriteFate {
        guard state.unit != nil else { throw Self.noUnit }
        let statements = try statements(of: change, &state)
        while true {
            var made: (fate: CompanyWriteFate, isLeftBehind: Bool)
            do throws(Failure) {
                made = try make(change, by: statements, &state)
            } catch {
                try requireRights(on: statements.mapping, after: error, &state)
                guard let words = Self.refusal(error) else {
                    try replay(after: error, &state)
                    continue
                }
                made = (.refused(words), true)
            }
            if made.isLeftBehind { try replay(after: nil, &state) }
            state.unit?.steps.append((change, made.fate))
            return made.fate
        }
    }

    func read<Value: Sendable>(
        _ state: inout State, _ body: (Server.Session) throws(Failure) -> Value
    ) throws(StoreError) -> Value {
        while true {
            do throws(Failure) {
                return try body(try state.server.session(for: doing))
            } catch {
                try replay(after: error, &state)
            }
        }
    }

    func commit(_ state: inout State) throws(StoreError) -> CommitOutcome {
        while let unit = state.unit {
            do throws(Failure) {
                if !unit.entries.isEmpty {
                    let session = try state.server.session(for: doing)
                    _ = try state.server.run(
                        state.server.insertion(of: unit.entries), in: session)
                }
            } catch {
                guard error.meaning != .duplicate else {
                    Self.giveUp(&state)
                    throw otherBooks
                }
                try replay(after: error, &state)
                continue
            }
            do throws(Failure) {
                if let words = try keep(unit.entitlements, &state) {
                    Self.giveUp(&state)
                    return .refused(words)
                }
            } catch {
                if let words = Self.refusal(error) {
                    Self.giveUp(&state)
                    return .refused(company.entitlementStatements?.refusal(words) ?? words)
                }
                try replay(after: error, &state)
                continue
            }
            do throws(Failure) {
                let session = try state.server.session(for: doing)
                try state.server.commit(upTo: unit.entries.last?.number, in: session)
                state.unit = nil
                return .committed
            } catch {
                guard !error.endsSession else {
                    // It may have been done: only the server knows.
                    state.unit = nil
                    guard let last = unit.entries.last,
                        let isThere = try? company.holds(last, &state)
                    else { return .unknown }
                    if isThere { return .committed }
                    state.unit = unit
                    try replay(after: error, &state)
                    continue
                }
                if error.mayBeOfOneRow, error.meaning != .unavailable {
                    // A deferred constraint: which change broke it, the server does not say.
                    Self.giveUp(&state)
                    return .refused(error.said)
                }
                try replay(after: error, &state)
            }
        }
        throw Self.noUnit
    }

    static func giveUp(_ state: inout State) {
        state.unit = nil
        state.server.rollBack()
    }

    // MARK: One change

    private static var savepoint: String { "SAVEPOINT trueup_change" }

    /// Makes one change where its row is as it was read.
    ///
    /// - Returns: The fate, and whether a change that is refused is still in the transaction.
    private func make(
        _ change: CompanyChange, by statements: MappedStatements, _ state: inout State
    ) throws(Failure) -> (fate: CompanyWriteFate, isLeftBehind: Bool) {
        let server = state.server
        let hasSavepoints = Server.hasSavepoints
        guard let read = statements.row(change.key),
            let look = statements.row(change.key, isLocked: hasSavepoints)
        else { return (.refused("the key is not one that the mapping's constants allow"), false) }
        let session = try state.server.session(for: doing)
        let mapping = statements.mapping
        let standing = try rows(look, by: mapping, server, session)
        guard standing.count < 2 else {
            return (.refused("two rows have this key; nothing says which is meant"), false)
        }
        let statement: MappedStatement
        switch statements.write(change, standing: standing.first) {
        case .nothing: return (.applied(version: change.version), false)
        case .stale: return (.stale, false)
        case .refused(let words): return (.refused(words), false)
        case .execute(let made): statement = made
        }
        if let look = statements.rowOfTransaction(change),
            try !server.run(look, in: session).rows.isEmpty
        {
            return (.refused(MappedStatements.transactionIsThere), false)
        }
        if hasSavepoints { try execute(Self.savepoint, server, session) }
        let fate: CompanyWriteFate
        do throws(Failure) {
            let affected = try write(statement, &state, session)
            fate = statements.fate(
                of: change, affected: affected, from: standing.first,
                to: try rows(read, by: mapping, server, session))
        } catch {
            // A right that is gone is about every row: that is looked at before it counts.
            guard hasSavepoints, error.isOfOneRow, error.meaning != .forbidden else { throw error }
            fate = .refused(error.said)
        }
        if hasSavepoints, !fate.isApplied {
            try execute("ROLLBACK TO \(Self.savepoint)", server, session)
        }
        return (fate, !hasSavepoints && fate.isRefused)
    }

    private func rows(
        _ statement: MappedStatement, by mapping: TableMapping, _ server: Server,
        _ session: Server.Session
    ) throws(Failure) -> [[String?]] {
        try server.run(statement, in: session).rows.map { server.texts(of: $0, by: mapping) }
    }

    private func statements(
        of change: CompanyChange, _ state: inout State
    ) throws(StoreError) -> MappedStatements {
        guard let mapping = company.mapping.mapping(of: change.table) else {
            throw .inconsistent("`\(change.table.setting)` names no table.")
        }
        return try state.server.statements(for: mapping)
    }

    private func execute(
        _ sql: String, _ server: Server, _ session: Server.Session
    ) throws(Failure) {
        _ = try server.run(MappedStatement(sql: sql, arguments: []), in: session)
    }

    /// Executes the write of one row: whatever is wrong with it is about that row, because those
    /// that read it were well.
    ///
    /// - Returns: How many rows the server says that it changed.
    private func write(
        _ statement: MappedStatement, _ state: inout State, _ session: Server.Session
    ) throws(Failure) -> Int {
        do throws(Failure) {
            return try state.server.run(statement, in: session).affected
        } catch {
            var failure = error
            failure.isOfOneRow = !error.endsSession && error.mayBeOfOneRow
            // A pooler also says so before it closes. Where a server still answers, a trigger did.
            if failure.isOfOneRow, error.meaning == .unavailable {
                failure.isOfOneRow = (try? execute("ROLLBACK", state.server, session)) != nil
            }
            throw failure
        }
    }

    /// Writes entitlements to the company's table of them.
    ///
    /// - Returns: The reason where the table did not keep them as they are.
    private func keep(
        _ changes: [CompanyEntitlementChange], _ state: inout State
    ) throws(Failure) -> String? {
        guard let entitlements = company.entitlementStatements, !changes.isEmpty else { return nil }
        let session = try state.server.session(for: doing)
        for statement in entitlements.write(changes) {
            _ = try write(statement, &state, session)
        }
        let found = try state.server.run(entitlements.rows(of: changes.map(\.key)), in: session)
        return entitlements.refusal(of: changes, found: entitlements.rows(of: found.rows))
    }

    /// Returns why this one change is not made; `nil` where the failure is another.
    ///
    /// Something that was asked before the write was asked about this row as well. A right that is
    /// missing to read is missing for every row.
    private static func refusal(_ failure: Failure) -> String? {
        guard !failure.endsSession,
            failure.isOfOneRow || [.value, .duplicate].contains(failure.meaning)
        else { return nil }
        return failure.said
    }

    // MARK: Once more

    /// Begins the unit again and does what it had done, or gives it up.
    ///
    /// Without a failure one value was refused, which is not a reason to give up.
    private func replay(after failure: Failure?, _ state: inout State) throws(StoreError) {
        var made: [MappedTable: MappedStatements] = [:]
        for step in state.unit?.steps ?? [] where made[step.change.table] == nil {
            made[step.change.table] = try statements(of: step.change, &state)
        }
        var failure = failure
        while var unit = state.unit {
            if let failure {
                try repeatOrThrow(failure, unit.attempts, &state)
                unit.attempts += 1
                state.unit = unit
            } else {
                state.server.rollBack()
            }
            do throws(Failure) {
                try open(&state)
                for step in unit.steps where step.fate.isApplied {
                    guard let statements = made[step.change.table],
                        try make(step.change, by: statements, &state).fate == step.fate
                    else {
                        throw Failure.again("another program changed a row while it was corrected")
                    }
                }
                return
            } catch {
                failure = error
            }
        }
    }

    /// A refusal by a policy or a trigger is about one row; a right of the user's that is gone is
    /// about all, and ends the run.
    private func requireRights(
        on mapping: TableMapping, after failure: Failure, _ state: inout State
    ) throws(StoreError) {
        guard failure.meaning == .forbidden, !failure.endsSession, let unit = state.unit else {
            return
        }
        state.unit = nil
        state.server.rollBack()
        let table = try state.server.tables(named: mapping.table).first
        let problem =
            table.map {
                MappingCheck(mapping, against: $0, for: Server.dialect)
                    .problem(mayWrite: true)
            } ?? "the user can no longer see it"
        guard let problem else {
            state.unit = unit
            return
        }
        throw .schema(
            "\(mapping.table) of \(state.server.place): \(problem). A right was "
                + "withdrawn during the run. Nothing of this step was written; what was committed "
                + "before is kept and reported. Grant the right again and run the job again: it "
                + "continues where it stopped.")
    }

    /// Waits before another attempt; throws where none may help, with the unit given up.
    private func repeatOrThrow(
        _ failure: Failure, _ attempt: Int, _ state: inout State
    ) throws(StoreError) {
        if !failure.endsSession { state.server.rollBack() }
        guard state.server.mayRepeat(after: failure, attempt: attempt) else {
            state.unit = nil
            throw failure.error(doing: doing, at: state.server.place)
        }
    }

    private func open(_ state: inout State) throws(Failure) {
        try state.server.begin(in: try state.server.session(for: doing))
    }

    private var otherBooks: StoreError {
        .schema(
            "The ledger in the company's database has an entry that trueup's database lacks. Nothing of "
                + "this step was written. trueup's database was restored to an earlier state: declare "
                + "that with `trueup restored --reason TEXT` (\(DocumentationPage.backup)).")
    }
}

extension CompanyWriteFate {
    fileprivate var isApplied: Bool {
        if case .applied = self { true } else { false }
    }

    fileprivate var isRefused: Bool {
        if case .refused = self { true } else { false }
    }
}
