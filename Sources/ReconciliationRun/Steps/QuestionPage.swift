import Reconciliation
import Subscriptions

/// The rows of one page, each with the reason why it is to be asked about.
///
/// What needs no question is settled here: rows in flight, rows of an app that is not configured.
/// What failed in the run before is put off to the end.
struct QuestionPage {
    let context: RunContext

    /// A row, or a subscription that nobody holds, and why Apple is to be asked.
    struct Item {
        var key: SubscriptionKey
        var row: ScopedRow?
        var reason: QuestionReason
    }

    /// Asks about the page and stages what came of it.
    ///
    /// - Parameter position: Where the walk goes on once the whole page was asked about.
    func settle(
        _ items: [Item], walkedThrough position: SubscriptionKey? = nil
    ) async throws(RunInterruption) {
        var policy = context.job.policy
        policy.now = context.clock.now()
        var settled: [RowOutcome] = []
        var subjects: [AskedPage.Subject] = []
        var putOff: [SubscriptionKey] = []
        let failing = try await failedLastTime(among: items.compactMap { $0.row?.row.key })
        for item in items {
            guard let row = item.row else {
                if let app = app(of: item.key) {
                    subjects.append(
                        AskedPage.Subject(
                            id: item.key.originalTransactionID, row: nil, app: app,
                            reason: item.reason))
                }
                continue
            }
            if let reason = exclusion(of: row.row, policy: policy) {
                settled.append(RowOutcome(key: item.key, verdict: .excluded(reason)))
            } else if let app = appToAsk(about: row.row, policy: policy) {
                if failing.contains(item.key) {
                    putOff.append(item.key)
                } else {
                    subjects.append(
                        AskedPage.Subject(
                            id: item.key.originalTransactionID, row: row, app: app,
                            reason: item.reason))
                }
            } else {
                settled.append(RowOutcome(key: item.key, verdict: .excluded(.appNotConfigured)))
            }
        }
        var page = await AskedPage.ask(subjects, in: context)
        page.batch.outcomes += settled
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

    private func app(of key: SubscriptionKey) -> AppIdentity? {
        guard let environment = AppStoreEnvironment(rawValue: key.environment) else { return nil }
        let app = AppIdentity(bundleID: key.bundleID, environment: environment)
        return context.appStores[app] == nil ? nil : app
    }

    /// What failed in the run before comes last: it may be at fault itself, and nothing that can be
    /// judged must wait for it.
    private func failedLastTime(
        among keys: [SubscriptionKey]
    ) async throws(RunInterruption) -> Set<SubscriptionKey> {
        guard !keys.isEmpty else { return [] }
        return try await context.storing { () async throws(StoreError) in
            try await context.ports.rows.failedLastTime(among: keys, before: context.header)
        }
    }
}
