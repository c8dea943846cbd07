package import Subscriptions

extension InMemoryStore {
    package func stagePlan(
        _ sha256: String, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) {
        try transaction { state throws(StoreError) in
            _ = try state.run(run, in: pass)
            let plan = try state.plan(sha256)
            state.passes[pass.passID]?.plan = plan.seal.head
            for item in state.passes[plan.passID]?.valid ?? [] {
                let number = state.store(item.correction, in: pass.passID)
                state.passes[pass.passID]?.noteRow(of: item.correction)
                if state.isWritten(item.correction, under: sha256) {
                    state.passes[pass.passID]?.note(.applied, of: number)
                }
                for finding in state.passes[plan.passID]?.findings ?? []
                where finding.correction == item.number && !finding.isSuperseded {
                    var copy = finding.finding
                    let planner = state.runs.first {
                        $0.header.runID == plan.seal.head.plannedBy
                    }
                    copy.cause = planner?.causes[finding.sequence] ?? copy.cause
                    state.store(
                        copy, of: finding.outcome, mendedBy: number, in: pass.passID)
                }
            }
            guard try state.seal(pass, run).sha256 == sha256 else {
                throw .inconsistent("The plan \(sha256) cannot be taken up as it was made.")
            }
        }
    }

    package func stageUndo(
        ofRun runID: String, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) -> UndoCounts {
        try transaction { state throws(StoreError) in
            _ = try state.run(run, in: pass)
            guard state.runs.contains(where: { $0.header.runID == runID }) else {
                throw .unavailable("There is no run \(runID) in this database.")
            }
            state.passes[pass.passID]?.undoOf = runID
            var counts = UndoCounts()
            for item in state.undoItems(of: runID) {
                counts.add(item)
                state.stage(item, undoing: runID, in: pass.passID)
            }
            return counts
        }
    }

    package func unwritten(of pass: OpenPass) async throws(StoreError) -> UnwrittenCorrections {
        try transaction { state in
            var unwritten = UnwrittenCorrections()
            for item in state.passes[pass.passID]?.valid ?? []
            where ![.planned, .applied].contains(item.fate) {
                unwritten.add(item.fate, of: item.key.originalTransactionID)
            }
            return unwritten
        }
    }

    package func canarySize(of pass: OpenPass) async throws(StoreError) -> Int {
        try transaction { $0.passes[pass.passID]?.canary.count ?? 0 }
    }

    package func extendCanary(
        by count: Int, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) -> Int {
        try transaction { state throws(StoreError) in
            _ = try state.run(run, in: pass)
            return state.passes[pass.passID]?.extendCanary(by: count) ?? 0
        }
    }

    package func applyCanary(
        limit: Int, in pass: OpenPass, run: RunHeader, at now: Timestamp
    ) async throws(StoreError) -> Int {
        try transaction { state throws(StoreError) in
            let chosen = state.passes[pass.passID]?.canary ?? []
            return try state.apply(limit, in: pass, run, now) { chosen.contains($0) }
        }
    }

    package func writtenCanary(of pass: OpenPass) async throws(StoreError) -> [CanaryRow] {
        try transaction { state in
            guard let pass = state.passes[pass.passID] else { return [] }
            return pass.canary.sorted().compactMap { key in
                let fates = pass.valid.filter { $0.key == key }.map(\.fate)
                guard !fates.isEmpty, fates.allSatisfy({ $0 == .applied }) else { return nil }
                let found = pass.findings.filter { !$0.isSuperseded && $0.outcome == key }
                return CanaryRow(key: key, kindsBefore: Set(found.map(\.finding.kind)))
            }
        }
    }
}

extension Pass {
    /// The kinds in turn: many rows of the kind that sorts first would prove little.
    fileprivate mutating func extendCanary(by count: Int) -> Int {
        let planned = valid.filter { $0.fate == .planned }
        var groups: [String: [SubscriptionKey]] = [:]
        for (key, items) in Dictionary(grouping: planned, by: \.key)
        where !canary.contains(key) {
            let kinds = items.flatMap(\.correction.kinds).map(\.rawValue).sorted()
            groups[kinds.joined(separator: " "), default: []].append(key)
        }
        let turns = groups.sorted { $0.key < $1.key }.flatMap { _, keys in
            keys.sorted().enumerated().map { (place: $0.offset, key: $0.element) }
        }
        // Stable: within a turn the kinds stay in their order.
        let chosen = turns.sorted { $0.place < $1.place }.prefix(count).map(\.key)
        for key in chosen {
            canary.formUnion(
                State.linked(to: key, among: planned).filter { linked in
                    planned.contains { $0.key == linked }
                })
        }
        return chosen.count
    }

    /// Takes the row of a correction into the tie-out of a run that judges none.
    mutating func noteRow(of correction: PlannedCorrection) {
        let key = correction.subscription
        if case .insert = correction.target {
            rows[key] = rows[key] ?? Judged()
        } else if rows[key]?.verdict == nil || rows[key]?.verdict == .match {
            rows[key] = Judged(verdict: correction.kinds.isEmpty ? .match : .discrepancy)
        }
    }
}

extension State {
    /// Whether a run that was killed wrote it under this plan.
    fileprivate func isWritten(_ correction: PlannedCorrection, under plan: String) -> Bool {
        ledger.contains {
            $0.plan == plan && $0.subscription == correction.subscription
                && $0.table == correction.table && $0.transactionID == correction.transactionID
                && $0.undoOf == correction.undoOf
        }
    }
}
