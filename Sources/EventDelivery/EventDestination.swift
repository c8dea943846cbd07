package import Subscriptions

/// Where events are told: one receiver of the company's.
package protocol EventDestination: Sendable {
    /// How long one attempt may take at most.
    var timeout: Duration { get }
    /// How many events, each of another subscription, may be told at once.
    var concurrency: Int { get }

    /// Tells an event once, and never takes much longer than `timeout`.
    func tell(_ event: OutboxEvent) async -> DeliveryAnswer
}

/// What came of telling an event once.
package enum DeliveryAnswer: Hashable, Sendable {
    /// The receiver has it.
    case accepted
    /// Why not, in a few words without anything secret in it, and how long the receiver wants to be
    /// left alone, if it says so.
    case failed(String, retryAfter: Duration? = nil)
}
