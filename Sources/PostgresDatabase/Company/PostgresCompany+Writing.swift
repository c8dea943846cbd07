package import Subscriptions
import Synchronization

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

    /// Changes one row if it is as it was read; whatever became of it, the transaction goes on.
    ///
    /// - Parameter change: In our columns and forms.
    /// - Returns: What became of it.
    /// - Throws: `StoreError` where the transaction cannot go on; nothing of it was written.
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

    /// Commits.
    ///
    /// Where the connection is lost before the answer, the ledger there says how it ended, and what
    /// did not happen is done once more.
    ///
    /// - Returns: `.unknown` where the ledger could not be read after that, `.refused` where a
    ///   constraint that is looked at last says no.
    /// - Throws: `StoreError` where nothing of the transaction was written.
    package func commit() throws(StoreError) -> CommitOutcome {
        try state.withLock { state throws(StoreError) in
            try UnitWork(self, "committing corrections").commit(&state)
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

/// What is done with the open transaction, and what is done when a statement of it fails.
///
/// A failed statement ends a transaction of PostgreSQL. Where the failure is about one value, or about
/// another transaction that stood in the way, it is begun again and its changes are made once more:
/// they must become of them what they became before, because that was told already.
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
    /// Without a failure one value was refused, which is no reason to give up.
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
                            words: "a row that was corrected changed before the end")
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

    /// A refusal by a policy or a trigger is about one row; a right of the user's that is gone is about
    /// all, and ends the run.
    private func requireRights(
        after failure: ServerFailure, _ state: inout PostgresCompany.State
    ) throws(StoreError) {
        guard failure.state.meaning == .forbidden, !failure.endsSession else { return }
        state.keeper.rollBack()
        let problem: String?
        do throws(StoreError) {
            let table = try state.keeper.tables(named: company.mapping.table).first
            problem =
                table.map { MappingCheck(company.mapping, against: $0).problem(mayWrite: true) }
                ?? "the user may not see it any more"
        } catch {
            state.unit = nil
            throw error
        }
        guard let problem else { return }
        state.unit = nil
        throw .schema(
            "\(company.mapping.table) of \(state.keeper.connector.address): \(problem). The right was "
                + "taken away during the run. Nothing of this step was written; what was committed "
                + "before stays and is reported. Give the right back and run again: the run goes on "
                + "where it stopped.")
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
            "The ledger in the company's database has an entry of these books that the books do "
                + "not have; nothing of this step was written. They were put back to an earlier "
                + "state: declare that with `trueup restored --reason TEXT` (docs/backup.md).")
    }

    /// Why this one change is not made; `nil` where the failure is another.
    private static func refusal(_ failure: ServerFailure) -> String? {
        guard !failure.endsSession else { return nil }
        if failure.isOfOneRow {
            return failure.state == .notKept
                ? failure.words : "\(failure.state): \(failure.words)"
        }
        // What was asked before the write was asked about this row, too. A right that is missing to
        // read is missing for every row.
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
            session: try session(&state), statements: company.statements, books: company.books,
            limits: state.keeper.limits)
    }
}

extension CompanyWriteFate {
    fileprivate var isApplied: Bool {
        if case .applied = self { true } else { false }
    }
}
