import EventDelivery
import Subscriptions
import Synchronization

/// An outbox in memory that keeps the promises of the port.
final class MemoryOutbox: Outbox {
    struct Entry {
        var event: OutboxEvent
        var nextAttempt: Timestamp
        var isTold = false
        var isGivenUp = false
        var lastError: String?

        var waits: Bool { !isTold && !isGivenUp }
    }

    private let state: Mutex<[Entry]>

    /// Takes the subscription of each event, in the ledger's order.
    init(_ subscriptions: [String], at now: Timestamp) {
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

    var entries: [Entry] { state.withLock { $0 } }

    func dueEvents(at now: Timestamp, limit: Int) async throws(StoreError) -> [OutboxEvent] {
        let waiting = entries.filter(\.waits)
        var heads: [Entry] = []
        for entry in waiting
        where !heads.contains(where: { $0.event.subscription == entry.event.subscription }) {
            heads.append(entry)
        }
        let due = heads.filter { $0.nextAttempt <= now }.sorted {
            ($0.event.attempts, $0.event.ledgerEntry) < ($1.event.attempts, $1.event.ledgerEntry)
        }
        return due.prefix(limit).map(\.event)
    }

    func settle(
        _ event: OutboxEvent, _ result: TellingResult, at now: Timestamp
    ) async throws(StoreError) {
        state.withLock { entries in
            let index = Int(event.ledgerEntry) - 1
            switch result {
            case .told: entries[index].isTold = true
            case .failed(let reason, let next):
                entries[index].event.attempts = event.attempts + 1
                entries[index].lastError = reason
                entries[index].isGivenUp = next == nil
                entries[index].nextAttempt = next ?? now
            }
        }
    }

    func postpone(until moment: Timestamp) async throws(StoreError) {
        state.withLock { entries in
            for index in entries.indices where entries[index].waits {
                entries[index].nextAttempt = max(entries[index].nextAttempt, moment)
            }
        }
    }

    func retryGivenUp(at now: Timestamp) async throws(StoreError) -> Int { 0 }

    func outboxTotals() async throws(StoreError) -> OutboxTotals {
        var totals = OutboxTotals()
        totals.told = entries.count { $0.isTold }
        totals.givenUp = entries.count { $0.isGivenUp }
        totals.waiting = entries.count { $0.waits }
        totals.nextAttempt = entries.filter(\.waits).map(\.nextAttempt).min()
        totals.lastError = entries.last { !$0.isTold && $0.lastError != nil }?.lastError
        return totals
    }
}

/// A receiver that answers as a test says, and remembers what it was told.
final class ScriptedDestination: EventDestination {
    let timeout: Duration
    let concurrency: Int
    private let answer: @Sendable (OutboxEvent) async -> DeliveryAnswer
    private let told = Mutex<[Int64]>([])

    init(
        timeout: Duration = .seconds(1), concurrency: Int = 1,
        answer: @escaping @Sendable (OutboxEvent) async -> DeliveryAnswer
    ) {
        self.timeout = timeout
        self.concurrency = concurrency
        self.answer = answer
    }

    /// Ledger entries in the order in which they arrived.
    var arrived: [Int64] { told.withLock { $0 } }

    func deliver(_ event: OutboxEvent) async -> DeliveryAnswer {
        told.withLock { $0.append(event.ledgerEntry) }
        return await answer(event)
    }
}
