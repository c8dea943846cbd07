package import Subscriptions

/// The port to the events that wait for delivery, each written with the correction it reports.
///
/// Every method is one short transaction.
package protocol Outbox: Sendable {
    /// Events due for delivery: at most one per subscription, because an undelivered older event of
    /// the same subscription holds back newer ones. Those that failed least often
    /// come first, then the older. One is due, too, whose next attempt lies more than
    /// `OutboxEvent.farthestAttemptMilliseconds` ahead.
    func dueEvents(at now: Timestamp, limit: Int) async throws(StoreError) -> [OutboxEvent]

    /// Records the result of an attempt; the message of a delivered event is deleted.
    func record(
        _ result: TellingResult, of event: OutboxEvent, at now: Timestamp
    ) async throws(StoreError)

    /// Makes no event due before that moment, because the receiver does not work; neither one whose
    /// next attempt lies further ahead than any may.
    func postpone(until moment: Timestamp) async throws(StoreError)

    /// Makes the events that were given up wait again, from the first attempt; says how many. One
    /// whose message was erased is none of them.
    func retryGivenUp(at now: Timestamp) async throws(StoreError) -> Int

    /// Counts the outbox; what is due already has its next attempt at `now` at the latest.
    func outboxTotals(at now: Timestamp) async throws(StoreError) -> OutboxTotals
}
