package import Subscriptions

/// Where events are delivered: one receiver of the company's.
package protocol EventDestination: Sendable {
    /// How long one attempt may take at most.
    var timeout: Duration { get }
    /// How many events, each of another subscription, may be delivered at once.
    var concurrency: Int { get }

    /// Makes one attempt to deliver an event, and never takes much longer than `timeout`.
    func deliver(_ event: OutboxEvent) async -> DeliveryAnswer
}

/// How one attempt ended.
package enum DeliveryAnswer: Hashable, Sendable {
    /// The receiver accepted it.
    case accepted
    /// Why not, in a few words without secrets, and how long the receiver asked to be
    /// left alone, if it did.
    case failed(String, retryAfter: Duration? = nil)
}
