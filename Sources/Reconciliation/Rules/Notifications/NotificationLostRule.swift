import Subscriptions

/// `notification_lost`: Apple recorded SUCCESS, and our inbox has nothing.
///
/// The endpoint answered 200 and then lost the event. Only where an inbox is kept, and once for
/// each notificationUUID. A TEST notification never counts.
struct NotificationLostRule: NotificationRule {
    static let version = 1

    func finding(about reading: NotificationReading) -> Finding? {
        guard !reading.isTest, reading.wasDelivered, reading.inboxIsKept, !reading.isKnown else {
            return nil
        }
        return reading.finding(.notificationLost, cause: "delivered, but not in the inbox")
    }
}
