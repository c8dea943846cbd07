import Reconciliation
import SubscriptionStore
import Subscriptions

extension RunContext {
    /// Asks once more, at the end, about the rows that Apple had a fault with.
    ///
    /// That is 5000000 and every other failure of a single question. They come last, so that they never
    /// are in the way of the others.
    func askAgain() async throws {
        var position: SubscriptionKey?
        while true {
            if let end = reasonToStop { throw end }
            let start = position
            let keys = try await store.rowsToAskAgain(
                after: start, limit: RunLimits.rowsPerPage, in: pass)
            guard let last = keys.last else { return }
            if clock.isPastDeadline { throw RunEnd.deadline }
            position = last
            let wanted = Set(keys)
            let rows = try await self.rows.rows(holding: keys.map(\.originalTransactionID))
                .filter { wanted.contains($0.row.key) }
            guard !rows.isEmpty else { continue }
            var subjects: [AskedPage.Subject] = []
            // A run that continues another's pass may find another table.
            var excluded: [RowOutcome] = []
            for row in rows {
                guard let app = appToAsk(about: row.row, policy: job.policy) else {
                    excluded.append(
                        RowOutcome(key: row.row.key, verdict: .excluded(.appNotConfigured)))
                    continue
                }
                subjects.append(
                    AskedPage.Subject(
                        id: row.row.key.originalTransactionID, row: row, app: app))
            }
            var page = await answers(to: subjects)
            page.batch.outcomes += excluded
            page.batch.replaces = true
            page.batch.asksAgain = []
            try await stage(page.batch)
            if let end = page.end { throw end }
            progress(RunProgress(stage: .again, done: rows.count))
        }
    }

    /// Asks each app one question that Apple answered before, at the beginning of a run that continues
    /// another one.
    ///
    /// Perhaps only ids that fail are left of a checkpoint. Without a single answer next to them they
    /// would look like an outage, and the run would wait for its end.
    func askKnownAnswers() async throws {
        guard pass.resumedFrom != nil else { return }
        var subjects: [AskedPage.Subject] = []
        for app in appStores.keys.sorted() {
            let id = try await store.judgedID(of: app, in: pass)
            if let id { subjects.append(AskedPage.Subject(id: id, row: nil, app: app)) }
        }
        var asking = self
        asking.job.policy.history = .never
        // Only that there is an answer counts.
        if let end = await asking.answers(to: subjects).end {
            throw end
        }
    }
}
