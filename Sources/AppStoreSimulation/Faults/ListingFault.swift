import Subscriptions

/// How notification history fails to list what was sent.
struct ListingFault: Sendable {
    /// A notification is listed so long after its date.
    var lateMilliseconds: Int64 = 0
    /// The share of notifications that are never listed: always the same ones.
    var lostPortion = 0.0

    /// Whether a notification is missing from the list at `now`.
    func hides(uuid: String, date: Timestamp, now: Timestamp) -> Bool {
        if now.milliseconds(since: date) < lateMilliseconds { return true }
        return lostPortion > 0 && FaultRule.point(of: uuid) < lostPortion
    }
}
