import Reconciliation
import Subscriptions

/// Walks the stored rows in key order, page by page; each page is staged with the walk's position,
/// so that a killed run loses one page of calls and nothing else.
struct WalkStep {
    let context: RunContext

    func run() async throws(RunInterruption) {
        var position = context.pass.walkedThrough
        var taken = 0
        while true {
            if let end = context.reasonToEnd { throw RunInterruption(end: end) }
            let start = position
            let page = try await context.storing { () async throws(StoreError) in
                try await context.ports.table.rows(after: start, limit: RunLimits.rowsPerPage)
            }
            guard let last = page.last else { break }
            position = last.row.key
            let rows = try await unsettled(among: page)
            guard !rows.isEmpty else { continue }
            let chosen = choose(from: rows, alreadyTaken: taken)
            taken += chosen.count
            try await settle(chosen, through: last.row.key)
            context.progress(RunProgress(stage: .walk, done: taken))
            if let limit = context.job.narrowing.limit, taken >= limit { break }
        }
    }

    /// The rows of a page that the pass has not settled, with what is noted about them.
    private func unsettled(among page: [HeldRow]) async throws(RunInterruption) -> [ScopedRow] {
        try await context.storing { () async throws(StoreError) in
            let settled = try await context.ports.pass.settled(
                among: page.map(\.row.key), in: context.pass)
            return try await context.rows.withNotes(
                page.filter { !settled.contains($0.row.key) })
        }
    }

    private func choose(from rows: [ScopedRow], alreadyTaken: Int) -> [ScopedRow] {
        let included = rows.filter { context.job.narrowing.includes($0.row.key) }
        guard let limit = context.job.narrowing.limit else { return included }
        return Array(included.prefix(limit - alreadyTaken))
    }

    private func settle(
        _ rows: [ScopedRow], through position: SubscriptionKey
    ) async throws(RunInterruption) {
        var policy = context.job.policy
        policy.now = context.clock.now()
        var excluded: [RowOutcome] = []
        var subjects: [AskedPage.Subject] = []
        var putOff: [SubscriptionKey] = []
        let failing = try await failedLastTime(among: rows)
        for row in rows {
            if let reason = exclusion(of: row.row, policy: policy) {
                excluded.append(RowOutcome(key: row.row.key, verdict: .excluded(reason)))
            } else if let app = appToAsk(about: row.row, policy: context.job.policy) {
                guard !failing.contains(row.row.key) else {
                    putOff.append(row.row.key)
                    continue
                }
                subjects.append(
                    AskedPage.Subject(
                        id: row.row.key.originalTransactionID, row: row, app: app))
            } else {
                excluded.append(
                    RowOutcome(key: row.row.key, verdict: .excluded(.appNotConfigured)))
            }
        }
        var page = await AskedPage.ask(subjects, in: context)
        page.batch.outcomes += excluded
        // Not asked until `AskAgainStep`; should the run not come so far, they were not reached, and
        // are asked in their turn the next time.
        page.batch.outcomes += putOff.map { RowOutcome(key: $0, verdict: .undecided(.deadline)) }
        page.batch.asksAgain += putOff
        // The position moves only when every row of the page was asked for.
        let isWhole = page.end == nil && !context.clock.isPastDeadline
        page.batch.walkedThrough = isWhole ? position : nil
        try await context.stage(page.batch)
        if let end = page.end { throw RunInterruption(end: end) }
        if !isWhole { throw RunInterruption(end: .deadline) }
    }

    /// What failed in the run before comes last: it may be at fault itself, and nothing that can be
    /// judged must wait for it.
    private func failedLastTime(
        among rows: [ScopedRow]
    ) async throws(RunInterruption) -> Set<SubscriptionKey> {
        try await context.storing { () async throws(StoreError) in
            try await context.ports.rows.failedLastTime(
                among: rows.map(\.row.key), before: context.header)
        }
    }
}
