import Reconciliation
import SubscriptionStore
import Subscriptions

extension RunContext {
    /// Finds the cause of every finding of the checkpoint and groups the findings by cause.
    ///
    /// It runs last, when it is known what was corrected. It asks Apple nothing: everything was stored
    /// while the notification history was read.
    ///
    /// - Returns: The clusters; none when a signal asks the run to end now.
    func findCauses() async throws(StoreError) -> [CauseCluster] {
        let histories = try await store.historyRead(in: pass)
        let now = clock.now()
        var tally = CauseTally()
        var position: Int64?
        var explained = 0
        while stop.signal == nil {
            let page = try await store.findingsToExplain(
                after: position, limit: RunLimits.findingsPerPage, in: pass)
            guard let last = page.last else { return tally.result }
            var causes: [Int64: FindingCause] = [:]
            for item in page {
                let app = AppIdentity(
                    bundleID: item.finding.bundleID, environment: item.finding.environment)
                let search = CauseSearch(
                    history: app.flatMap { histories[$0] },
                    inboxIsKept: job.recover.inboxIsKept, now: now)
                causes[item.sequence] =
                    adoptedCause(of: item.finding)
                    ?? search.cause(of: item.finding, among: item.notifications)
            }
            // The run before read the history up to where this one began.
            let unread = causes.filter { CauseSearch.isUnread($0.value) }.keys.sorted()
            for (sequence, text) in try await store.causesFoundBefore(of: unread) {
                if let known = CauseSearch.known(before: text) { causes[sequence] = known }
            }
            var texts: [Int64: String] = [:]
            for item in page {
                guard let cause = causes[item.sequence] else { continue }
                tally.add(item, cause)
                if cause.text != item.finding.cause { texts[item.sequence] = cause.text }
            }
            if !texts.isEmpty {
                try await store.explain(texts, in: pass, run: header)
            }
            position = last.sequence
            explained += page.count
            progress(RunProgress(stage: .causes, done: explained))
        }
        return []
    }

    /// Returns the cause that the run with the plan found: it had read the history, and this one
    /// has not.
    private func adoptedCause(of finding: Finding) -> FindingCause? {
        guard case .plan = job.planSource else { return nil }
        return finding.cause.map { FindingCause(text: $0) }
    }
}
