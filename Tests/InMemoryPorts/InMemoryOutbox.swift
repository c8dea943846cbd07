import EventDelivery
package import Subscriptions
import Synchronization

/// An outbox in memory that keeps the promises of the port.
package final class InMemoryOutbox: Outbox {
    package struct Entry: Sendable {
        package var event: OutboxEvent
        package var nextAttempt: Timestamp
        package var isTold = false
        package var isGivenUp = false
        package var lastError: String?

        var waits: Bool { !isTold && !isGivenUp }

        /// One that lies further ahead than any may is due.
        func nextAttempt(at now: Timestamp) -> Timestamp {
            let ahead = nextAttempt.milliseconds(since: now)
            return ahead > OutboxEvent.farthestAttemptMilliseconds ? now : nextAttempt
        }
    }

    private let state: Mutex<[Entry]>

    /// Takes the subscription of each event, in the ledger's order.
    package init(_ subscriptions: [String], at now: Timestamp) {
        state = Mutex(
            subscriptions.enumerated().map { index, id in
                Entry(
                    event: OutboxEvent(
                        ledgerEntry: Int64(index + 1), idempotencyKey: "key \(index + 1)",
                        event: "renewal",
                        subscription: SubscriptionKey(
                            bundleID: "app", environment: "Production", originalTransactionID: id),
                        body: "{\"ledger_entry\":\(index + 1)}", attempts: 0),
                    nextAttempt: now)
            })
    }

    package var entries: [Entry] { state.withLock { $0 } }

    /// What waits, and no older event of its subscription.
    private var heads: [Entry] {
        var heads: [Entry] = []
        for entry in entries.filter(\.waits)
        where !heads.contains(where: { $0.event.subscription == entry.event.subscription }) {
            heads.append(entry)
        }
        return heads
    }

    package func dueEvents(
        at now: Timestamp, limit: Int
    ) async throws(StoreError) -> [OutboxEvent] {
        let due = heads.filter { $0.nextAttempt(at: now) <= now }.sorted {
            ($0.event.attempts, $0.event.ledgerEntry) < ($1.event.attempts, $1.event.ledgerEntry)
        }
        return due.prefix(limit).map(\.event)
    }

    package func record(
        _ result: TellingResult, of event: OutboxEvent, at now: Timestamp
    ) async throws(StoreError) {
        change {
            $0.event.ledgerEntry == event.ledgerEntry
        } to: { entry in
            switch result {
            case .told:
                entry.isTold = true
                entry.lastError = nil
            case .failed(let reason, let next):
                entry.event.attempts = event.attempts + 1
                entry.lastError = reason
                entry.isGivenUp = next == nil
                entry.nextAttempt = next ?? entry.nextAttempt
            }
        }
    }

    package func postpone(until moment: Timestamp) async throws(StoreError) {
        change(\.waits) { $0.nextAttempt = max($0.nextAttempt(at: moment), moment) }
    }

    package func retryGivenUp(at now: Timestamp) async throws(StoreError) -> Int {
        change(\.isGivenUp) { entry in
            entry.isGivenUp = false
            entry.event.attempts = 0
            entry.nextAttempt = now
        }
    }

    package func outboxTotals(at now: Timestamp) async throws(StoreError) -> OutboxTotals {
        var totals = OutboxTotals()
        totals.told = entries.count { $0.isTold }
        totals.givenUp = entries.count { $0.isGivenUp }
        totals.waiting = entries.count { $0.waits }
        totals.nextAttempt = heads.map { $0.nextAttempt(at: now) }.min()
        totals.lastError = entries.last { !$0.isTold && $0.lastError != nil }?.lastError
        return totals
    }

    /// Says how many entries were changed.
    @discardableResult
    private func change(
        _ isMeant: (Entry) -> Bool, to change: (inout Entry) -> Void
    ) -> Int {
        state.withLock { entries in
            var changed = 0
            for index in entries.indices where isMeant(entries[index]) {
                change(&entries[index])
                changed += 1
            }
            return changed
        }
    }
}
