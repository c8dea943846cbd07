package import Subscriptions

extension InMemoryStore {
    package func begin(_ run: RunHeader) async throws(StoreError) -> OpenPass {
        try transaction { state in state.begin(run) }
    }

    package func unreachedRows(
        in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) -> Int {
        try transaction { state in state.unreached(in: pass.passID, run: run).count }
    }

    package func unresolvedFindings(
        of pass: OpenPass
    ) async throws(StoreError) -> [Severity: Int] {
        try transaction { state in
            Dictionary(grouping: state.unresolved(in: pass)) { $0.severity }.mapValues(\.count)
        }
    }

    package func newFindings(
        of pass: OpenPass
    ) async throws(StoreError) -> [Severity: Int] {
        try transaction { state in
            let fresh = state.unresolved(in: pass).filter {
                state.open[State.identity(of: $0)] == nil
            }
            return Dictionary(grouping: fresh) { $0.severity }.mapValues(\.count)
        }
    }

    package func conclude(
        _ given: RunConclusion, in pass: OpenPass, run: RunHeader,
        ended: (@Sendable () -> Timestamp)?, progress: (Int, Int) -> Void
    ) async throws(StoreError) {
        var conclusion = given
        if let ended { conclusion.ended = ended() }
        try transaction { [conclusion] state throws(StoreError) in
            let index = try state.run(run, in: pass)
            guard state.runs[index].conclusion == nil else {
                throw .inconsistent("The run \(run.runID) has been concluded before.")
            }
            if state.runs[index].plan == nil { _ = try state.seal(pass, run) }
            state.runs[index].report = state.report(of: index, conclusion)
            state.runs[index].conclusion = conclusion
            if run.worksOffAgenda { state.settleAgenda(in: pass.passID, at: run.started) }
            state.rememberOpenFindings(
                in: pass.passID,
                resolves: conclusion.closesPass && run.leavesOutNothingOfItsApps
                    && state.judgesRows(pass),
                knowsRows: run.mode == .apply && conclusion.acceptedTableRows != nil)
            state.reportedThrough = state.ledger.last?.number ?? 0
            if let rows = conclusion.acceptedTableRows { state.tableSizes.append(rows) }
            if run.goesRound, conclusion.endsRound { state.rounds[run.job] = nil }
            defer { state.forgetGoneRows(after: conclusion, of: run) }
            guard conclusion.closesPass else { return }
            state.passes[pass.passID]?.standing = .closed
            if run.mode == .apply, run.leavesOutNothingOfItsApps {
                state.promoteMarks(of: pass.passID)
            }
        }
    }
}

extension State {
    /// Whether the pass judges rows itself, rather than working off a plan or taking a run back.
    fileprivate func judgesRows(_ pass: OpenPass) -> Bool {
        passes[pass.passID].map { $0.plan == nil && $0.undoOf == nil } ?? false
    }

    fileprivate func unresolved(in pass: OpenPass) -> [Finding] {
        guard let pass = passes[pass.passID] else { return [] }
        return pass.findings.filter { staged in
            !staged.isSuperseded && pass.fate(of: staged.correction) != .applied
                && ![.corrected, .inserted, .recovered].contains(staged.finding.action)
        }.map(\.finding)
    }

    /// After how long an open pass is dropped, whatever it is about.
    private static let passLifetime: Int64 = 24 * 60 * 60 * 1000

    mutating func begin(_ run: RunHeader) -> OpenPass {
        askWhatIsDecidedAnew(by: run)
        askWhatOnlyChecksSaw(by: run)
        let open = passes.filter { $0.value.standing == .open }
        let adopted = open.filter { passID, pass in
            guard pass.began.job == run.job else { return false }
            let last = runs.last { $0.passID == passID }
            return pass.isContinued(by: run, killed: last?.conclusion == nil)
        }.keys.max()
        let passID = adopted ?? number()
        let resumedFrom = runs.last { $0.passID == adopted }?.header.runID
        if adopted == nil { passes[passID] = Pass(began: run) }
        passes[passID]?.forgetCarried()
        let gone = open.filter { passID, pass in
            let isOfJob = pass.began.job == run.job
            let isRepeated = pass.began.mode == run.mode && pass.began.narrowing == run.narrowing
            let isYoung = pass.isYoung(at: run.started, Self.passLifetime)
            return passID != adopted
                && (isOfJob && isRepeated || (isOfJob || run.judgesRows) && !isYoung)
        }
        for dropped in gone.keys.sorted() {
            passes[dropped]?.standing = .dropped
            carryNotifications(from: dropped, to: passID)
        }
        // Nobody may ever go on with what a run of another job has left.
        for other in open.keys.sorted() where run.judgesRows && gone[other] == nil {
            let last = runs.last { $0.passID == other }
            guard other != adopted, let last, last.conclusion == nil else { continue }
            // What a check found itself, everybody finds again.
            carryNotifications(
                from: other, to: passID, recoveredAlone: last.header.mode == .check)
        }
        runs.append(Run(header: run, passID: passID))
        if run.worksOffAgenda, run.coversEveryRow, rounds[run.job] == nil {
            rounds[run.job] = run.started
        }
        let moved = movedRows(in: passID)
        passes[passID]?.askAgain(moved: moved)
        var pass = OpenPass(passID: passID, resumedFrom: resumedFrom)
        pass.recoveredApps = passes[passID]?.recovered.sorted() ?? []
        pass.walkedThrough = passes[passID]?.walkedThrough
        pass.roundBegan = round(of: passID)
        return pass
    }

    /// A notification is found missing once only, so a finding that no report has shown must not go
    /// down with its pass.
    private mutating func carryNotifications(
        from dropped: Int64, to passID: Int64, recoveredAlone: Bool = false
    ) {
        let isReported = runs.contains { $0.passID == dropped && $0.conclusion != nil }
        guard !isReported else { return }
        for (index, staged) in (passes[dropped]?.findings ?? []).enumerated()
        where [.notificationMissed, .notificationLost].contains(staged.finding.kind)
            && !staged.isSuperseded && (!recoveredAlone || staged.finding.action == .recovered)
        {
            store(staged.finding, of: staged.outcome, mendedBy: nil, in: passID)
            // Each is told once.
            passes[dropped]?.findings[index].isSuperseded = true
        }
    }

    /// Held rows that the run is about and the pass has not settled.
    func unreached(in passID: Int64, run: RunHeader) -> [SubscriptionKey] {
        guard let pass = passes[passID] else { return [] }
        guard run.missesWhatItLeaves else { return [] }
        let isWhole = run.coversEveryRow
        let round = round(of: passID)
        return table.rows.keys.filter { key in
            guard !run.isForAppsAlone || run.apps.contains(where: { $0.owns(key) }) else {
                return false
            }
            if let round, let check = notes[key]?.check, check.askedAt >= round { return false }
            return !pass.isSettled(key)
                && (isWhole || pass.questions[key] != nil
                    || agenda[key]?.isAsked(at: run.started) == true)
        }.sorted()
    }

    private func round(of passID: Int64) -> Timestamp? {
        guard let began = passes[passID]?.began, began.worksOffAgenda, began.coversEveryRow
        else { return nil }
        return rounds[began.job]
    }

    /// Rows whose planned correction can no longer be written.
    private func movedRows(in passID: Int64) -> Set<SubscriptionKey> {
        guard let pass = passes[passID], pass.plan == nil, pass.undoOf == nil else { return [] }
        return Set(
            pass.valid.filter { staged in
                guard staged.fate == .planned,
                    case .update(let key, let version) = staged.correction.target,
                    let row = table.rows[key]
                else { return false }
                return row.rowVersion != version
            }.map(\.key))
    }

    func report(of index: Int, _ conclusion: RunConclusion) -> StoredReport {
        var report = StoredReport()
        let run = runs[index]
        guard let pass = passes[run.passID] else { return report }
        report.totals = pass.totals
        for (key, row) in pass.rows {
            if case .undecided(let reason) = row.verdict { report.undecided[key] = reason }
        }
        if conclusion.settlesUnreached {
            let unreached = unreached(in: run.passID, run: run.header)
            for key in unreached {
                let reason = conclusion.reason(ofUnreached: (key.bundleID, key.environment))
                report.undecided[key] = reason
                report.totals.undecided[reason, default: 0] += 1
            }
        }
        report.entries = ledger.map(\.number).filter { $0 > reportedThrough }
        let standing = pass.findings.filter { !$0.isSuperseded }
        report.kinds = standing.map(\.finding.kind)
        report.causes = standing.compactMap { run.causes[$0.sequence] ?? $0.finding.cause }
        return report
    }

    /// Where the next reading of a history begins, once nothing that this one showed is left
    /// unwritten or undecided.
    fileprivate mutating func promoteMarks(of passID: Int64) {
        guard let pass = passes[passID] else { return }
        for (key, mark) in pass.marks {
            let isWritten = pass.valid.allSatisfy { $0.key != key || $0.fate == .applied }
            if case .undecided = pass.rows[key]?.verdict { continue }
            guard isWritten, let row = table.rows[key] else { continue }
            var mark = mark
            // What this pass wrote itself is no reason to read the history again.
            let wrotePeriods = pass.valid.contains {
                $0.key == key && $0.correction.transactionID != nil
            }
            if wrotePeriods { mark.periods = table.held(row).periodsDigest }
            notes[key, default: RowNotes()].history = mark
        }
    }
}

extension Pass {
    /// What an earlier run of the pass took over as open may be looked at after all.
    fileprivate mutating func forgetCarried() {
        for index in findings.indices where findings[index].isCarried {
            findings[index].isSuperseded = true
        }
    }

    fileprivate func isContinued(by run: RunHeader, killed: Bool) -> Bool {
        began.mode == run.mode && began.settingsDigest == run.settingsDigest
            && began.narrowing == run.narrowing && began.coversEveryRow == run.coversEveryRow
            && isYoung(at: run.started, run.continuesWithinMilliseconds(killed: killed))
    }

    fileprivate func isYoung(at now: Timestamp, _ lifetime: Int64) -> Bool {
        let age = now.unixMilliseconds - began.started.unixMilliseconds
        return (-lifetime + 1..<lifetime).contains(age)
    }

    /// Forgets rows that an earlier run could not judge only because it ended, or Apple was out of
    /// reach, so that the walk meets them again.
    fileprivate mutating func askAgain(moved: Set<SubscriptionKey>) {
        let keys = rows.filter { key, row in
            if moved.contains(key) { return true }
            guard case .undecided(let reason) = row.verdict else { return false }
            return [.deadline, .unavailable, .rateLimited].contains(reason)
        }.keys
        guard !keys.isEmpty else { return }
        for key in keys {
            rows[key] = nil
            for index in corrections.indices
            where corrections[index].key == key && corrections[index].fate == .planned {
                corrections[index].isSuperseded = true
            }
            for index in findings.indices where findings[index].outcome == key {
                findings[index].isSuperseded = true
            }
        }
        walkedThrough = nil
    }

    var totals: RunTotals {
        var totals = RunTotals()
        for row in rows.values where !row.isInserted {
            switch row.verdict {
            case .match: totals.matched += 1
            case .discrepancy: totals.discrepant += 1
            case .undecided(let reason): totals.undecided[reason, default: 0] += 1
            case .excluded(let reason): totals.excluded[reason, default: 0] += 1
            case nil: break
            }
        }
        return totals
    }
}
