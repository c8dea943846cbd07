import EventDelivery
import Subscriptions
import Synchronization

/// A receiver that answers as a test says, and remembers what it was sent.
final class ScriptedDestination: EventDestination {
    let timeout: Duration
    let concurrency: Int
    private let answer: @Sendable (OutboxEvent) async -> DeliveryAnswer
    private let sent = Mutex<[Int64]>([])

    init(
        timeout: Duration = .seconds(1), concurrency: Int = 1,
        answer: @escaping @Sendable (OutboxEvent) async -> DeliveryAnswer
    ) {
        self.timeout = timeout
        self.concurrency = concurrency
        self.answer = answer
    }

    /// Ledger entries in the order in which they arrived.
    var arrived: [Int64] { sent.withLock { $0 } }

    func deliver(_ event: OutboxEvent) async -> DeliveryAnswer {
        sent.withLock { $0.append(event.ledgerEntry) }
        return await answer(event)
    }
}
