/// One event that waits to be told.
package struct OutboxEvent: Hashable, Sendable {
    /// The correction that it tells of; also its place in the order of events.
    package var ledgerEntry: Int64
    /// The same in every attempt: the receiver knows by it what it has had already.
    package var idempotencyKey: String
    /// A name of `BillingEvent`.
    package var event: String
    package var subscription: SubscriptionKey
    /// The message, byte for byte the same in every attempt.
    package var body: String
    /// Failed attempts so far.
    package var attempts: Int

    package init(
        ledgerEntry: Int64, idempotencyKey: String, event: String, subscription: SubscriptionKey,
        body: String, attempts: Int
    ) {
        self.ledgerEntry = ledgerEntry
        self.idempotencyKey = idempotencyKey
        self.event = event
        self.subscription = subscription
        self.body = body
        self.attempts = attempts
    }
}

/// How an attempt to tell an event ended, as it is written down.
package enum TellingResult: Hashable, Sendable {
    case told
    /// Not told: to be tried again from that moment on, or no more when there is none.
    case failed(String, nextAttempt: Timestamp?)
}

/// The outbox in numbers.
package struct OutboxTotals: Hashable, Sendable {
    package var told = 0
    package var waiting = 0
    /// Tried as often as the schedule says, without success; kept.
    package var givenUp = 0
    /// The first moment at which something that waits is due.
    package var nextAttempt: Timestamp?
    /// Why the newest failed attempt failed; `nil` when nothing waits or was given up.
    package var lastError: String?

    package init() {}

    package var isEmpty: Bool { told + waiting + givenUp == 0 }
}
