import Subscriptions

/// `notification_missed`: no send attempt succeeded, and this run recovers it first.
///
/// Once for each notificationUUID: not for one that an earlier run recovered, or that the company
/// imported as received. A TEST notification never counts.
struct NotificationMissedRule: NotificationRule {
    static let version = 1

    func finding(about reading: NotificationReading) -> Finding? {
        guard !reading.isTest, !reading.wasDelivered, !reading.isKnown else { return nil }
        return reading.finding(.notificationMissed, cause: "no delivery attempt succeeded")
    }
}
