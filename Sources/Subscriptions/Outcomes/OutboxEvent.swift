/// One event that waits for delivery.
package struct OutboxEvent: Hashable, Sendable {
    /// The ledger entry that it reports; also its place in the order of events.
    package var ledgerEntry: Int64
    /// The same in every attempt, so that the receiver can recognise a repeated event.
    package var idempotencyKey: String
    /// A name of `BillingEvent`.
    package var event: String
    package var subscription: SubscriptionKey
    /// The message, byte for byte the same in every attempt.
    package var body: String
    /// Failed attempts so far.
    package var attempts: Int

    /// How far ahead a next attempt may lie: more than the longest wait, which is 80 minutes.
    ///
    /// One that lies further ahead was noted under a wrong clock, so the event is due.
    package static let farthestAttemptMilliseconds: Int64 = 2 * 60 * 60_000

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

/// The result of one delivery attempt, as it is stored.
package enum TellingResult: Hashable, Sendable {
    case told
    /// Not delivered, and why; tried again from `nextAttempt` on, or never when that is `nil`.
    case failed(String, nextAttempt: Timestamp?)
}

/// The number of events in each state of the outbox.
package struct OutboxTotals: Hashable, Sendable {
    package var told = 0
    package var waiting = 0
    /// Attempted as often as the schedule allows, without success; kept.
    package var givenUp = 0
    /// Not told before their message was erased; nothing can tell them any more.
    package var erased = 0
    /// When the next event is due that no older one of its subscription holds back.
    package var nextAttempt: Timestamp?
    /// Why the latest attempt failed; `nil` when nothing waits and nothing was given up.
    package var lastError: String?

    package init() {}

    package var isEmpty: Bool { told + waiting + givenUp + erased == 0 }
}
