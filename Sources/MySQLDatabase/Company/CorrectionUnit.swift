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
/// A row is locked before it is compared, and read again after it was written. A statement that
/// fails leaves the transaction as it was; a deadlock or a lost connection ends it. Then it is begun
/// again and its changes are made once more: they must have the same outcomes as before, which were
/// already returned.
struct UnitWork {
    let company: MySQLCompany
    let doing: String

    init(_ company: MySQLCompany, _ doing: String) {
        self.company = company
        self.doing = doing
    }

    static let openUnit = StoreError.inconsistent(
        "A transaction in the company's database was still open.")
    static let noUnit = StoreError.inconsistent(
        "No transaction is open in the company's database.")

    func begin(_ state: inout MySQLCompany.State) throws(StoreError) {
        var attempt = 1
        while true {
            do throws(MySQLFailure) {
                try open(&state)
                state.unit = CorrectionUnit()
                state.link.isAnswered()
                return
            } catch {
                try repeatOrThrow(error, attempt, &state)
                attempt += 1
            }
        }
    }

    func write(
        _ change: CompanyChange, _ state: inout MySQLCompany.State
    ) throws(StoreError) -> CompanyWriteFate {
        guard state.unit != nil else { throw Self.noUnit }
        while true {
            var fate: CompanyWriteFate
            do throws(MySQLFailure) {
                fate = try make(change, &state)
            } catch {
                guard error.isOfOneRow else {
                    try replay(after: error, &state)
                    continue
                }
                try requireRights(after: error, &state)
                try replay(after: nil, &state)
                fate = .refused(error.said)
            }
            state.unit?.steps.append((change, fate))
            return fate
        }
    }

    func read<Value: Sendable>(
        _ state: inout MySQLCompany.State,
        _ body: (any MySQLSession) throws(MySQLFailure) -> Value
    ) throws(StoreError) -> Value {
        while true {
            do throws(MySQLFailure) {
                return try body(try session(&state))
            } catch {
                try replay(after: error, &state)
            }
        }
    }

    func commit(_ state: inout MySQLCompany.State) throws(StoreError) -> CommitOutcome {
        while let unit = state.unit {
            do throws(MySQLFailure) {
                try MySQLLedger.append(unit.entries, in: try session(&state))
            } catch {
                guard error.meaning != .duplicate else {
                    Self.giveUp(&state)
                    throw otherBooks
                }
                try replay(after: error, &state)
                continue
            }
            do throws(MySQLFailure) {
                if let words = try keep(unit.entitlements, &state) {
                    Self.giveUp(&state)
                    return .refused(words)
                }
            } catch {
                if error.isOfOneRow {
                    Self.giveUp(&state)
                    return .refused(
                        company.entitlementStatements?.refusal(error.said) ?? error.said)
                }
                try replay(after: error, &state)
                continue
            }
            do throws(MySQLFailure) {
                try session(&state).execute("COMMIT")
                state.unit = nil
                state.link.isAnswered()
                return .committed
            } catch {
                // It may have been done: only the ledger shows whether it was.
                state.unit = nil
                state.link.drop()
                guard let last = unit.entries.last else { return .unknown }
                state.lost = last.number
                guard let isThere = try? company.holds(last, &state) else { return .unknown }
                if isThere { return .committed }
                state.unit = unit
                try replay(after: error, &state)
            }
        }
        throw Self.noUnit
    }

    static func giveUp(_ state: inout MySQLCompany.State) {
        state.unit = nil
        state.link.rollBack()
    }

    // MARK: One change

    private static let savepoint = "trueup_change"

    /// Makes one change where its row is as it was read; what is refused is taken back.
    private func make(
        _ change: CompanyChange, _ state: inout MySQLCompany.State
    ) throws(MySQLFailure) -> CompanyWriteFate {
        let session = try session(&state)
        guard let statements = state.statements, let read = statements.row(change.key),
            let locking = statements.row(change.key, isLocked: true)
        else { return .refused("the key is not one that the mapping's constants allow") }
        let standing = try session.run(locking.sql, locking.arguments).rows
        guard standing.count < 2 else {
            return .refused("two rows have this key; nothing says which is meant")
        }
        let statement: MappedStatement
        switch statements.write(change, standing: standing.first) {
        case .nothing: return .applied(version: change.version)
        case .stale: return .stale
        case .refused(let words): return .refused(words)
        case .execute(let made): statement = made
        }
        if let look = statements.rowOfTransaction(change),
            try !session.run(look.sql, look.arguments).rows.isEmpty
        {
            return .refused(MappedStatements.transactionIsThere)
        }
        try session.execute("SAVEPOINT \(Self.savepoint)")
        let fate: CompanyWriteFate
        do throws(MySQLFailure) {
            let affected = try execute(statement, in: session)
            fate = statements.fate(
                of: change, affected: affected, from: standing.first,
                to: try session.run(read.sql, read.arguments).rows)
        } catch {
            // A right that is gone is about every row: that is looked at before it counts.
            guard error.isOfOneRow, error.meaning != .forbidden else { throw error }
            fate = .refused(error.said)
        }
        if !fate.isApplied { try session.execute("ROLLBACK TO SAVEPOINT \(Self.savepoint)") }
        return fate
    }

    /// Executes the write of one row: whatever is wrong with it is about that row, because those
    /// that read it were well.
    private func execute(
        _ statement: MappedStatement, in session: any MySQLSession
    ) throws(MySQLFailure) -> Int {
        do throws(MySQLFailure) {
            return try session.run(statement.sql, statement.arguments).affected
        } catch {
            var failure = error
            failure.isOfOneRow =
                !error.endsSession
                && ![.again, .locked, .tooSlow, .full, .readOnly, .stopped, .unavailable]
                    .contains(error.meaning)
            throw failure
        }
    }

    /// Writes entitlements to the company's table of them.
    ///
    /// - Returns: The reason where the table did not keep them as they are.
    private func keep(
        _ changes: [CompanyEntitlementChange], _ state: inout MySQLCompany.State
    ) throws(MySQLFailure) -> String? {
        guard let entitlements = company.entitlementStatements, !changes.isEmpty else { return nil }
        let session = try session(&state)
        for statement in entitlements.write(changes) { _ = try execute(statement, in: session) }
        let look = entitlements.rows(of: changes.map(\.key))
        let found = try session.run(look.sql, look.arguments).rows
        return entitlements.refusal(of: changes, found: entitlements.rows(of: found))
    }

    // MARK: Once more

    /// Begins the unit again and does what it had done, or gives it up.
    ///
    /// Without a failure it was rolled back for another reason.
    private func replay(
        after failure: MySQLFailure?, _ state: inout MySQLCompany.State
    ) throws(StoreError) {
        var failure = failure
        while var unit = state.unit {
            if let failure {
                try repeatOrThrow(failure, unit.attempts, &state)
                unit.attempts += 1
                state.unit = unit
            }
            do throws(MySQLFailure) {
                try open(&state)
                for step in unit.steps where step.fate.isApplied {
                    guard try make(step.change, &state) == step.fate else {
                        throw MySQLFailure(
                            .again, words: "another program changed a row while it was corrected")
                    }
                }
                return
            } catch {
                failure = error
            }
        }
    }

    /// Rolls back, and throws where a right of the user's is gone.
    ///
    /// That is about all rows, and ends the run. One that only a trigger lacks is about one row.
    private func requireRights(
        after failure: MySQLFailure, _ state: inout MySQLCompany.State
    ) throws(StoreError) {
        let unit = state.unit
        state.unit = nil
        state.link.rollBack()
        let table = try state.link.tables(named: company.mapping.table).first
        let problem =
            table.map {
                MappingCheck(company.mapping, against: $0, for: .mysql).problem(mayWrite: true)
            } ?? "the user can no longer see it"
        guard let problem else {
            state.unit = unit
            return
        }
        throw .schema(
            "\(company.mapping.table) of \(state.link.connector.address): \(problem). A right was "
                + "withdrawn during the run (\(failure.said)). Nothing of this step was written; what "
                + "was committed before is kept and reported. Grant the right again and run the job "
                + "again: it continues where it stopped.")
    }

    /// Waits before another attempt; throws where none may help, with the unit given up.
    private func repeatOrThrow(
        _ failure: MySQLFailure, _ attempt: Int, _ state: inout MySQLCompany.State
    ) throws(StoreError) {
        if !failure.endsSession { state.link.rollBack() }
        guard state.link.mayRepeat(after: failure, attempt: attempt) else {
            state.unit = nil
            throw StoreError(failure, doing: doing, at: state.link.connector.address)
        }
    }

    private func open(_ state: inout MySQLCompany.State) throws(MySQLFailure) {
        let session = try session(&state)
        // A fail-over may have led to a replica.
        let answer = try session.run("SELECT CAST(@@global.read_only AS CHAR)", []).first
        guard answer == "0" || answer == "OFF" else {
            throw MySQLFailure(.readOnly, words: "read_only is on")
        }
        try session.execute("START TRANSACTION")
    }

    private func session(
        _ state: inout MySQLCompany.State
    ) throws(MySQLFailure) -> any MySQLSession {
        try state.link.current(for: doing)
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
}
