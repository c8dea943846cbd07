package import Subscriptions
import Synchronization

/// What the company's services do, and what a test looks at.
extension InMemoryStore {
    package func hold(_ row: LocalSubscription) { state.withLock { $0.table.hold(row) } }

    package func hold(_ period: LocalTransaction) { state.withLock { $0.table.hold(period) } }

    package func remove(_ key: SubscriptionKey) { state.withLock { $0.table.remove(key) } }

    package var rows: [SubscriptionKey: LocalSubscription] { state.withLock { $0.table.rows } }

    package var periods: [LocalTransaction] {
        state.withLock { $0.table.periods.values.sorted { $0.key < $1.key } }
    }

    package var ledger: [LedgerEntry] { state.withLock { $0.ledger } }

    /// The identity of the plan that a run made.
    package func plan(ofRun runID: String) -> String? {
        state.withLock { state in state.runs.first { $0.header.runID == runID }?.plan }
    }

    /// What a concluded run reported; `nil` where it did not come to its end.
    package func report(ofRun runID: String) -> StoredReport? {
        state.withLock { state in
            state.runs.first { $0.header.runID == runID && $0.conclusion != nil }?.report
        }
    }
}

extension InMemoryStore {
    package func rows(
        after key: SubscriptionKey?, limit: Int
    ) async throws(StoreError) -> [HeldRow] {
        try transaction { state in
            let keys = state.table.rows.keys.sorted().filter { row in key.map { $0 < row } ?? true }
            return keys.prefix(limit).compactMap { state.table.rows[$0] }.map(state.table.held)
        }
    }

    package func rows(
        holding originalTransactionIDs: [String]
    ) async throws(StoreError) -> [HeldRow] {
        let ids = Set(originalTransactionIDs)
        return try transaction { state in
            state.table.rows.values.filter { ids.contains($0.key.originalTransactionID) }
                .sorted { $0.key < $1.key }.map(state.table.held)
        }
    }

    package func keysOfUnreadApps(
        holding originalTransactionIDs: [String]
    ) async throws(StoreError) -> [SubscriptionKey] { [] }

    package func rowsByApp() async throws(StoreError) -> [AppRows] {
        try transaction { state in
            Dictionary(grouping: state.table.rows.keys) { [$0.bundleID, $0.environment] }
                .map { AppRows(bundleID: $0[0], environment: $0[1], rows: $1.count) }
                .sorted { ($0.bundleID, $0.environment) < ($1.bundleID, $1.environment) }
        }
    }

    package func notes(
        about keys: [SubscriptionKey]
    ) async throws(StoreError) -> [SubscriptionKey: RowNotes] {
        try transaction { state in
            var found: [SubscriptionKey: RowNotes] = [:]
            for key in keys {
                guard var notes = state.notes[key] else { continue }
                notes.standIns = state.standIns(of: key)
                notes.neighbours = state.neighbours(of: key)
                notes.isKnownOverlap =
                    !notes.neighbours.isEmpty && state.open[State.overlap(of: key)] != nil
                if notes != RowNotes() { found[key] = notes }
            }
            return found
        }
    }

    package func failedLastTime(
        among keys: [SubscriptionKey], before run: RunHeader
    ) async throws(StoreError) -> Set<SubscriptionKey> {
        try transaction { state in
            let last = state.runs.last {
                $0.header.job == run.job && $0.header.runID != run.runID && $0.conclusion != nil
            }
            return Set(keys.filter { last?.report.undecided[$0] == .unavailable })
        }
    }
}

extension State {
    /// A stand-in counts as long as its row stands.
    func standIns(of key: SubscriptionKey) -> [SubscriptionKey] {
        (notes[key]?.standIns ?? []).filter { table.rows[$0] != nil }.sorted()
    }
}
