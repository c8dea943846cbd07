package import Subscriptions

extension InMemoryStore {
    @discardableResult
    package func sealPlan(
        of pass: OpenPass, run: RunHeader, progress: @escaping @Sendable (Int, Int) -> Void
    ) async throws(StoreError) -> PlanSeal {
        try transaction { state throws(StoreError) in try state.seal(pass, run) }
    }

    package func correctionsLeft(of pass: OpenPass) async throws(StoreError) -> Int {
        try transaction { state in
            state.passes[pass.passID]?.valid.count { $0.fate == .planned } ?? 0
        }
    }

    package func planTotals(of pass: OpenPass) async throws(StoreError) -> PlanTotals {
        try transaction { state in
            guard let staged = state.passes[pass.passID] else {
                return PlanTotals(
                    totals: RunTotals(), changes: 0, notFound: 0, verificationFailures: 0)
            }
            let planned = staged.valid.filter { [.planned, .applied].contains($0.fate) }
            var totals = PlanTotals(
                totals: staged.totals, changes: Set(planned.map(\.key)).count,
                notFound: staged.rows.values.count(where: \.isAbsent),
                verificationFailures: staged.findings.count {
                    !$0.isSuperseded && $0.finding.kind == .verificationFailed
                },
                tableRows: state.table.rows.count, tableRowsBefore: state.tableSizes.last)
            totals.inFlightByOurselves = staged.rows.count { key, row in
                row.verdict == .excluded(.inFlight)
                    && state.ledger.contains {
                        $0.subscription == key
                            && $0.appleSignedDate == state.table.rows[key]?.signedDate
                    }
            }
            let updates = planned.filter {
                $0.correction.action == .update && $0.correction.undoOf == nil
            }
            totals.totals.filled = Dictionary(grouping: updates, by: \.key).values
                .count { $0.allSatisfy(\.correction.kinds.isEmpty) }
            state.cover(&totals, as: staged)
            totals.lastRun =
                state.runs.last {
                    $0.header.job == staged.began.job && $0.header.narrowing.isEmpty
                        && $0.passID != pass.passID && $0.conclusion?.closesPass == true
                }?.report.totals
            return totals
        }
    }

    package func planTotals(ofPlan sha256: String) async throws(StoreError) -> PlanTotals {
        try transaction { state throws(StoreError) in
            let plan = try state.plan(sha256)
            let origin = state.passes[plan.passID]
            let report = state.runs.first { $0.header.runID == plan.runID }?.report
            var totals = PlanTotals(
                totals: report?.totals ?? RunTotals(), changes: 0,
                notFound: origin?.rows.values.count(where: \.isAbsent) ?? 0,
                verificationFailures: report?.kinds.count { $0 == .verificationFailed } ?? 0)
            if let origin { state.cover(&totals, as: origin) }
            return totals
        }
    }

    package func reducePlan<Result: Sendable>(
        of pass: OpenPass, into initial: Result,
        _ add: @escaping @Sendable (inout Result, PlannedCorrection, QuestionReason?) -> Void
    ) async throws(StoreError) -> Result {
        try transaction { state in
            let staged = state.passes[pass.passID]
            return (staged?.valid ?? []).filter { [.planned, .applied].contains($0.fate) }
                .reduce(into: initial) {
                    add(&$0, $1.correction, staged?.rows[$1.correction.subscription]?.because)
                }
        }
    }

    package func liftsOfKilledRuns(in pass: OpenPass) async throws(StoreError) -> [GuardLift] {
        try transaction { state in
            state.runs.filter { $0.passID == pass.passID && $0.conclusion == nil }
                .flatMap(\.lifts)
        }
    }

    package func recordLifts(
        _ lifts: [GuardLift], in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) {
        try transaction { state throws(StoreError) in
            let index = try state.run(run, in: pass)
            state.runs[index].lifts += lifts
        }
    }

    package func applyPlanned(
        limit: Int, in pass: OpenPass, run: RunHeader, at now: Timestamp
    ) async throws(StoreError) -> Int {
        try transaction { state throws(StoreError) in
            try state.apply(limit, in: pass, run, now) { _ in true }
        }
    }
}

extension Pass {
    /// What became of the rows for which nothing spoke.
    var routine: RoutineRows {
        let asked = rows.filter { $0.value.because?.isRoutine == true }
            .filter { $0.value.verdict == .match || $0.value.verdict == .discrepancy }
        let planned = Set(
            valid.filter { [.planned, .applied].contains($0.fate) }.map(\.correction.subscription))
        return RoutineRows(
            judged: asked.count, changed: asked.keys.count(where: planned.contains))
    }
}

extension State {
    /// Shares are of the whole table where a pass asks about a part of it for reasons of its own.
    fileprivate func cover(_ totals: inout PlanTotals, as pass: Pass) {
        let isPart = !pass.began.narrowing.isEmpty
        if isPart, !pass.began.isForAppsAlone || pass.scheduled == nil { return }
        if let scheduled = pass.scheduled {
            totals.tableCoverage = scheduled.rows
            totals.routine = pass.routine
        } else if !pass.began.coversEveryRow {
            totals.tableCoverage = table.rows.count
        } else if let earlier = rowsOfRoundBefore(pass) {
            totals.tableCoverage = totals.totals.inScope + earlier
        }
    }

    /// Rows that earlier runs of the round have judged and this pass has not; `nil` where the pass goes
    /// on with no round.
    func rowsOfRoundBefore(_ pass: Pass) -> Int? {
        guard pass.began.goesRound, let round = rounds[pass.began.job],
            round < pass.began.started
        else { return nil }
        return table.rows.keys.count { key in
            !pass.isSettled(key) && notes[key]?.check.map { $0.askedAt >= round } == true
        }
    }

    func plan(_ sha256: String) throws(StoreError) -> Plan {
        guard let plan = plans[sha256] else {
            throw .inconsistent("The plan \(sha256) is not known to this database.")
        }
        return plan
    }

    mutating func seal(_ pass: OpenPass, _ run: RunHeader) throws(StoreError) -> PlanSeal {
        let index = try self.run(run, in: pass)
        if let known = runs[index].plan { return try plan(known).seal }
        let staged = passes[pass.passID]
        let head =
            staged?.plan
            ?? PlanHead(
                database: "memory", plannedBy: run.runID, job: run.job, scope: run.narrowing)
        let planned = staged?.valid ?? []
        let lines =
            [head.canonical.rendered]
            + planned.map { CanonicalJSON.object($0.correction.planMembers).rendered }
        let seal = PlanSeal(
            sha256: fingerprint(lines.joined(separator: "\n")), head: head,
            changes: planned.count)
        runs[index].plan = seal.sha256
        if plans[seal.sha256] == nil {
            plans[seal.sha256] = Plan(seal: seal, passID: pass.passID, runID: run.runID)
        }
        return seal
    }

    /// Takes up so many corrections of the wanted subscriptions, and those that must be written
    /// together with them.
    mutating func apply(
        _ limit: Int, in pass: OpenPass, _ run: RunHeader, _ now: Timestamp,
        _ isWanted: (SubscriptionKey) -> Bool
    ) throws(StoreError) -> Int {
        guard run.mode == .apply else {
            throw .inconsistent("The run \(run.runID) is a check and must not write.")
        }
        let plan = try seal(pass, run).sha256
        guard let staged = passes[pass.passID] else { return 0 }
        let planned = staged.valid.filter { $0.fate == .planned }
        var units: Set<SubscriptionKey> = []
        for item in planned.filter({ isWanted($0.key) }).prefix(limit) {
            units.formUnion(Self.linked(to: item.key, among: planned))
        }
        // Gains before losses: nobody is without access between two writes.
        let taken = planned.filter { units.contains($0.key) }
        let gains = taken.filter(\.correction.continuedBy.isEmpty)
        for item in gains + taken.filter({ !$0.correction.continuedBy.isEmpty }) {
            let fate = try make(item.correction, run, plan, now)
            passes[pass.passID]?.note(fate, of: item.number)
            noteFate(fate, of: item.correction, in: pass.passID)
        }
        return taken.count
    }

    /// Every subscription that is connected with this one, from loss to gain and from gain to loss.
    static func linked(
        to key: SubscriptionKey, among planned: [Pass.StagedCorrection]
    ) -> Set<SubscriptionKey> {
        var found: Set<SubscriptionKey> = [key]
        while true {
            let before = found.count
            for item in planned {
                let others = item.correction.continuedBy.map {
                    SubscriptionKey(
                        bundleID: item.key.bundleID, environment: item.key.environment,
                        originalTransactionID: $0)
                }
                let unit = Set(others + [item.key])
                if !others.isEmpty, !unit.isDisjoint(with: found) { found.formUnion(unit) }
            }
            if found.count == before { return found }
        }
    }

    private mutating func make(
        _ correction: PlannedCorrection, _ run: RunHeader, _ plan: String, _ now: Timestamp
    ) throws(StoreError) -> CorrectionFate {
        let digests = [correction.evidence, correction.evidenceRenewal].compactMap(\.self)
        guard correction.undoOf != nil || evidence.isSuperset(of: digests) else {
            return .unproven
        }
        let key = correction.subscription
        guard correction.undoOf != nil || standIns(of: key).isEmpty else { return .stale }
        let other = correction.continuedBy.first { gives($0, insteadOf: key) }
        guard correction.continuedBy.isEmpty || other != nil else { return .heldBack }
        let fate = table.make(correction)
        guard fate == .applied else { return fate }
        var entry = LedgerEntry(
            number: (ledger.last?.number ?? 0) + 1,
            previousHash: ledger.last?.hash ?? LedgerEntry.firstPreviousHash, runID: run.runID,
            correction: correction, writtenAt: now, actor: run.actor)
        entry.action = correction.action
        entry.plan = plan
        entry.rowVersion = correction.table == "subscriptions" ? table.rows[key]?.rowVersion : nil
        entry.accessContinuesBy = other
        entry.hash = fingerprint(entry.previousHash + entry.canonicalWithoutHash.rendered)
        ledger.append(entry)
        if let undone = correction.undoOf { noteTakenBack(undone) }
        return .applied
    }

    /// Whether the subscription stands in the table as entitling, and for no other customer.
    private func gives(_ id: String, insteadOf key: SubscriptionKey) -> Bool {
        let other = SubscriptionKey(
            bundleID: key.bundleID, environment: key.environment, originalTransactionID: id)
        guard let row = table.rows[other], let status = row.status else { return false }
        let customers = [row.customerID, table.rows[key]?.customerID].compactMap(\.self)
            .filter { !$0.isEmpty }
        return SubscriptionStatus(rawValue: status).isEntitling && Set(customers).count <= 1
    }

    private mutating func noteFate(
        _ fate: CorrectionFate, of correction: PlannedCorrection, in passID: Int64
    ) {
        let key = correction.subscription
        switch (fate, correction.target) {
        case (.stale, _) where passes[passID]?.rows[key]?.verdict != nil:
            passes[passID]?.rows[key]?.verdict = .undecided(.changedDuringRun)
        case (.applied, .insert) where passes[passID]?.rows[key]?.verdict == nil:
            // The walk of a run that goes on must not meet it as a row in scope.
            passes[passID]?.rows[key, default: Pass.Judged()].isInserted = true
        case (.applied, .delete), (.applied, .deletePeriod): notes[key]?.history = nil
        case (.applied, .updatePeriod) where correction.undoOf != nil:
            notes[key]?.history?.periods?.sha256 = ""
        default: break
        }
    }
}
