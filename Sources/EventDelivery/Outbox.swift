package import Subscriptions

/// The port to the events that wait to be told, each written with the correction that it tells of.
///
/// Every method is one short transaction.
package protocol Outbox: Sendable {
    /// Events that may be told now: at most one of a subscription, because an older event of the
    /// same subscription that still waits holds back the newer ones. Those that failed least often
    /// come first, then the older.
    func dueEvents(at now: Timestamp, limit: Int) async throws(StoreError) -> [OutboxEvent]

    /// Writes down how an attempt ended; the message of a told event is dropped.
    func settle(
        _ event: OutboxEvent, _ result: TellingResult, at now: Timestamp
    ) async throws(StoreError)

    /// Lets nothing be due before that moment: the receiver is not well.
    func postpone(until moment: Timestamp) async throws(StoreError)

    /// Makes the events that were given up wait again, from the first attempt; says how many.
    func retryGivenUp(at now: Timestamp) async throws(StoreError) -> Int

    func outboxTotals() async throws(StoreError) -> OutboxTotals
}
