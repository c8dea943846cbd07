import Logging
import Reconciliation
import SubscriptionStore
import Subscriptions

extension RunContext {
    /// Writes the corrections of a few subscriptions, asks Apple about exactly these again, and judges
    /// what now is in the database.
    ///
    /// The rest of a plan is only written when they all agree. The choice is stored before anything is
    /// written, so a run that continues a killed one looks at the same rows.
    func checkCanary(of size: Int) async throws -> CanaryOutcome {
        let rows = try await writeCanary(of: size)
        var differing: [String: String] = [:]
        var undecided: [UndecidedReason: Int] = [:]
        for start in stride(from: 0, to: rows.count, by: RunLimits.rowsPerPage) {
            let some = Array(rows[start..<min(rows.count, start + RunLimits.rowsPerPage)])
            let look = try await lookAgain(at: some)
            if let end = look.end { return .interrupted(end, subscriptions: rows.count) }
            for (row, judgement) in look.judgements {
                switch judgement {
                case .agrees: break
                case .differs(let what): differing[row.key.originalTransactionID] = what
                case .undecided(let reason): undecided[reason, default: 0] += 1
                }
            }
        }
        log(
            "canary",
            [
                "subscriptions": "\(rows.count)", "differing": "\(differing.count)",
                "undecided": "\(undecided.values.reduce(0, +))",
            ], at: .notice)
        if !differing.isEmpty { return .differs(differing, of: rows.count) }
        if !undecided.isEmpty { return .undecided(undecided, of: rows.count) }
        return .agrees(subscriptions: rows.count)
    }

    /// Writes until so many subscriptions are corrected, or the plan has no more: a row that
    /// changed or that the database refuses proves nothing, and another takes its place.
    private func writeCanary(of size: Int) async throws -> [CanaryRow] {
        while true {
            try await apply { limit, now in
                try await store.applyPlanned(
                    isCanary: true, limit: limit, in: pass, run: header, at: now)
            }
            let written = try await store.writtenCanary(of: pass)
            let wanted = size - written.count
            guard wanted > 0 else { return written }
            let chosen = try await store.extendCanary(by: wanted, in: pass, run: header)
            guard chosen > 0 else { return written }
        }
    }

    /// Asks about the rows as they are now.
    ///
    /// They were signed a moment ago, so what keeps a walk away from rows in flight must not keep
    /// this look away from them.
    ///
    /// - Returns: The judgements, or the reason to end the run.
    private func lookAgain(
        at rows: [CanaryRow]
    ) async throws -> (judgements: [(CanaryRow, CanaryJudgement)], end: RunEnd?) {
        var context = self
        context.job.policy.settleMilliseconds = 0
        let keys = Set(rows.map(\.key))
        let held = try await context.rows.rows(holding: rows.map(\.key.originalTransactionID))
            .filter { keys.contains($0.row.key) }
        let subjects = held.compactMap { row in
            appToAsk(about: row.row, policy: context.job.policy).map {
                AskedPage.Subject(id: row.row.key.originalTransactionID, row: row, app: $0)
            }
        }
        let page = await context.answers(to: subjects)
        // An outage leaves rows undecided; anything else ends the run in its own words.
        switch page.end {
        case nil, .unavailable: break
        case .some(let end): return ([], end)
        }
        let outcomes = Dictionary(keepingFirst: page.batch.outcomes.map { ($0.key, $0) })
        let heldKeys = Set(held.map(\.row.key))
        let judgements = rows.map { row in
            let judgement = CanaryJudgement(
                of: row, isHeld: heldKeys.contains(row.key), outcome: outcomes[row.key])
            return (row, judgement)
        }
        return (judgements, nil)
    }
}
