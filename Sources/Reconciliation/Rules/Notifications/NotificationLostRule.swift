import Subscriptions

extension AllRules {
    /// `notification_lost`: Apple recorded SUCCESS, and our inbox has nothing.
    ///
    /// The endpoint answered 200 and then lost the event. Only where an inbox is kept, and once for
    /// each notificationUUID. A TEST notification never counts.
    static let notificationLost = NotificationRule("NotificationLostRule") { item in
        guard !item.isTest, item.wasDelivered, item.inboxIsKept, !item.isKnown else {
            return nil
        }
        return item.finding(.notificationLost, cause: "delivered, but not in the inbox")
    }
}
