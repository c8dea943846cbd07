package import Subscriptions

/// The port to the events that wait for delivery, each written with the correction it reports.
///
/// Every method is one short transaction.
package protocol Outbox: Sendable {
    /// Events due for delivery: at most one per subscription, because an undelivered older event of
    /// the same subscription holds back newer ones. Those that failed least often
    /// come first, then the older.
    func dueEvents(at now: Timestamp, limit: Int) async throws(StoreError) -> [OutboxEvent]

    /// Records the result of an attempt; the message of a delivered event is deleted.
    func record(
        _ result: TellingResult, of event: OutboxEvent, at now: Timestamp
    ) async throws(StoreError)

    /// Makes no event due before that moment, because the receiver does not work.
    func postpone(until moment: Timestamp) async throws(StoreError)

    /// Makes the events that were given up wait again, from the first attempt; says how many.
    func retryGivenUp(at now: Timestamp) async throws(StoreError) -> Int

    func outboxTotals() async throws(StoreError) -> OutboxTotals
}
