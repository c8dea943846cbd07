package import Subscriptions

extension InMemoryStore {
    package func stage(
        _ batch: StagedBatch, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) {
        try transaction { state throws(StoreError) in
            let run = try state.run(run, in: pass)
            // A plan that is added to is another plan.
            state.runs[run].plan = nil
            state.stage(batch, in: pass.passID)
        }
    }

    package func settled(
        among keys: [SubscriptionKey], in pass: OpenPass
    ) async throws(StoreError) -> Set<SubscriptionKey> {
        try transaction { state in
            Set(keys.filter { state.passes[pass.passID]?.isSettled($0) ?? false })
        }
    }

    package func rowsToAskAgain(
        after key: SubscriptionKey?, limit: Int, in pass: OpenPass
    ) async throws(StoreError) -> [SubscriptionKey] {
        try transaction { state in
            let rows = state.passes[pass.passID]?.rows ?? [:]
            let keys = rows.filter { $0.value.asksAgain }.keys.sorted()
            return Array(keys.filter { row in key.map { $0 < row } ?? true }.prefix(limit))
        }
    }

    package func judgedID(
        of app: AppIdentity, in pass: OpenPass
    ) async throws(StoreError) -> String? {
        try transaction { state in
            let rows = state.passes[pass.passID]?.rows ?? [:]
            return rows.filter { key, row in
                key.isOf(app) && [.match, .discrepancy].contains(row.verdict)
            }.keys.min()?.originalTransactionID
        }
    }
}

extension InMemoryStore {
    package func heldUnderOtherIDs(
        among keys: [SubscriptionKey], in pass: OpenPass
    ) async throws(StoreError) -> Set<SubscriptionKey> {
        try transaction { state in
            let findings = state.passes[pass.passID]?.findings ?? []
            return Set(
                keys.filter { key in
                    findings.contains {
                        !$0.isSuperseded && [.invalidID, .migrated].contains($0.finding.kind)
                            && $0.finding.bundleID == key.bundleID
                            && $0.finding.environment == key.environment
                            && $0.finding.appleValue == .text(key.originalTransactionID)
                    }
                })
        }
    }
}

extension SubscriptionKey {
    func isOf(_ app: AppIdentity) -> Bool {
        bundleID == app.bundleID && environment == app.environment.rawValue
    }
}

extension State {
    mutating func stage(_ batch: StagedBatch, in passID: Int64) {
        if batch.replaces {
            for key in Set(batch.outcomes.map(\.key)) { passes[passID]?.supersede(key) }
        }
        var settled: Set<SubscriptionKey> = []
        for outcome in batch.outcomes where stage(outcome, batch.replaces, in: passID) {
            settled.insert(outcome.key)
        }
        for outcome in batch.outcomes { refuseWhereAnotherStands(outcome, in: passID) }
        for key in batch.asksAgain where settled.contains(key) {
            passes[passID]?.rows[key]?.asksAgain = true
        }
        passes[passID]?.marks.merge(batch.historyMarks) { $1 }
        if let position = batch.walkedThrough { passes[passID]?.walkedThrough = position }
    }

    /// Whether the outcome settled its row.
    private mutating func stage(
        _ outcome: RowOutcome, _ replaces: Bool, in passID: Int64
    ) -> Bool {
        guard passes[passID]?.settle(outcome, replaces: replaces) ?? false else { return false }
        if let stated = outcome.statedAt {
            let known = notes[outcome.key]?.newestStatement
            notes[outcome.key, default: RowNotes()].newestStatement =
                known.map { max($0, stated) } ?? stated
        }
        switch outcome.absence {
        case .nothing: break
        case .present: notes[outcome.key]?.absence = nil
        case .absent(let day):
            notes[outcome.key, default: RowNotes()].absence = .after(
                notes[outcome.key]?.absence, day: day)
        }
        evidence.formUnion(outcome.evidence.map(\.digest))
        let corrections = outcome.corrections.map { ($0, store($0, in: passID)) }
        for finding in outcome.findings {
            let naming = corrections.filter { $0.0.kinds.contains(finding.kind) }
            let period = naming.first {
                $0.0.transactionID != nil
                    && ($0.0.transactionID == finding.transactionID
                        || $0.0.transactionID == finding.field)
            }
            let row = naming.first { $0.0.subscription == finding.key }
            store(
                finding, of: outcome.key, mendedBy: (period ?? row ?? naming.first)?.1, in: passID)
        }
        return outcome.verdict != nil
    }

    /// Stores a correction; one that the pass plans already is kept.
    mutating func store(_ correction: PlannedCorrection, in passID: Int64) -> Int64 {
        let same = passes[passID]?.valid.first {
            $0.key == correction.subscription && $0.correction.action == correction.action
                && $0.correction.transactionID == correction.transactionID
                && $0.correction.undoOf == correction.undoOf
        }
        if let same { return same.number }
        let number = number()
        passes[passID]?.corrections.append(
            Pass.StagedCorrection(number: number, correction: correction))
        return number
    }

    /// Stores a finding once: the same one again, out of another answer, adds nothing.
    mutating func store(
        _ finding: Finding, of outcome: SubscriptionKey?, mendedBy correction: Int64?,
        isCarried: Bool = false, in passID: Int64
    ) {
        let isKnown = passes[passID]?.findings.contains {
            !$0.isSuperseded && $0.finding.kind == finding.kind
                && $0.finding.bundleID == finding.bundleID
                && $0.finding.environment == finding.environment
                && $0.finding.key == finding.key && $0.finding.field == finding.field
                && $0.finding.transactionID == finding.transactionID
        }
        guard isKnown == false else { return }
        let sequence = number()
        passes[passID]?.findings.append(
            Pass.StagedFinding(
                sequence: sequence, finding: finding, outcome: outcome, correction: correction,
                isCarried: isCarried))
    }

    /// Takes back what is planned for a subscription for which another row stands.
    private mutating func refuseWhereAnotherStands(_ outcome: RowOutcome, in passID: Int64) {
        var originals = Set(outcome.corrections.map(\.subscription))
        for finding in outcome.findings where finding.kind == .invalidID {
            guard let key = finding.key, case .text(let id) = finding.appleValue else { continue }
            let original = SubscriptionKey(
                bundleID: key.bundleID, environment: key.environment, originalTransactionID: id)
            if notes[original]?.standIns.contains(key) != true {
                notes[original, default: RowNotes()].standIns.append(key)
            }
            originals.insert(original)
        }
        for key in originals where !standIns(of: key).isEmpty {
            passes[passID]?.refusePlanned(for: key)
        }
    }
}

extension Pass.Judged {
    init(_ outcome: RowOutcome) {
        self.init(verdict: outcome.verdict)
        because = outcome.askedBecause
        check = outcome.check
        payer = outcome.payer
        look = outcome.look
        isDoubtful = outcome.isDoubtful
    }
}

extension Pass {
    /// Writes the verdict; whether the outcome counts.
    mutating func settle(_ outcome: RowOutcome, replaces: Bool) -> Bool {
        let before = rows[outcome.key]
        guard outcome.verdict != nil else {
            guard before?.isInserted != true else { return false }
            if before == nil { rows[outcome.key] = Judged(outcome) }
            rows[outcome.key]?.asksAgain = replaces ? false : before?.asksAgain ?? false
            return true
        }
        if let before, replaces ? before.isInserted : before.isSettled { return false }
        var judged = Judged(outcome)
        judged.because = judged.because ?? before?.because
        if case .absent = outcome.absence { judged.isAbsent = true }
        rows[outcome.key] = judged
        return true
    }

    /// Takes back what was staged for a row, but for what has been written already.
    mutating func supersede(_ key: SubscriptionKey) {
        for index in findings.indices where findings[index].outcome == key {
            if fate(of: findings[index].correction) != .applied {
                findings[index].isSuperseded = true
            }
        }
        for index in corrections.indices
        where corrections[index].key == key && corrections[index].fate != .applied {
            corrections[index].isSuperseded = true
        }
    }

    fileprivate mutating func refusePlanned(for key: SubscriptionKey) {
        var refused: Set<Int64> = []
        for index in corrections.indices
        where corrections[index].key == key && corrections[index].fate == .planned
            && corrections[index].correction.undoOf == nil && !corrections[index].isSuperseded
        {
            corrections[index].isSuperseded = true
            refused.insert(corrections[index].number)
        }
        for index in findings.indices {
            guard let correction = findings[index].correction, refused.contains(correction) else {
                continue
            }
            findings[index].finding.action = .refused
            findings[index].finding.cause = VetoCause.standIn
            findings[index].correction = nil
        }
    }
}
