import Reconciliation
import SubscriptionStore
import Subscriptions

/// The questions of one page of rows, and what needs no question.
struct QuestionPage: Sendable {
    var subjects: [AskedPage.Subject] = []
    /// How many rows were read for it, whatever became of them.
    var rows = 0
    /// Rows in flight, and rows of an app that is not configured.
    var settled: [RowOutcome] = []
    /// What failed in the run before and is asked about at the end.
    var putOff: [SubscriptionKey] = []
    /// Where the walk goes on once the whole page was asked about.
    var walkedThrough: SubscriptionKey?

    /// A row, or a subscription that nobody holds, and why Apple is to be asked.
    struct Item {
        var key: SubscriptionKey
        var row: ScopedRow?
        var reason: QuestionReason
    }
}

/// Says of each row of a page whether Apple is asked, and through which app.
struct QuestionSorting {
    let context: RunContext

    func page(of items: [QuestionPage.Item]) async throws -> QuestionPage {
        var policy = context.job.policy
        policy.now = context.clock.now()
        var page = QuestionPage()
        let failing = try await failedLastTime(among: items.compactMap { $0.row?.row.key })
        for item in items {
            let id = item.key.originalTransactionID
            guard let row = item.row else {
                if let app = app(of: item.key) {
                    page.subjects.append(
                        AskedPage.Subject(id: id, row: nil, app: app, reason: item.reason))
                }
                continue
            }
            if let reason = exclusion(of: row.row, policy: policy) {
                page.settled.append(RowOutcome(key: item.key, verdict: .excluded(reason)))
            } else if let app = appToAsk(about: row.row, policy: policy) {
                if failing.contains(item.key) {
                    page.putOff.append(item.key)
                } else {
                    page.subjects.append(
                        AskedPage.Subject(id: id, row: row, app: app, reason: item.reason))
                }
            } else {
                page.settled.append(
                    RowOutcome(key: item.key, verdict: .excluded(.appNotConfigured)))
            }
        }
        return page
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
    ) async throws -> Set<SubscriptionKey> {
        guard !keys.isEmpty else { return [] }
        return try await context.store.failedLastTime(among: keys, before: context.header)
    }
}
