import Subscriptions

extension AllRules {
    /// `notification_missed`: no send attempt succeeded, and this run recovers it first.
    ///
    /// Once for each notificationUUID: not for one that an earlier run recovered, or that the company
    /// imported as received. A TEST notification never counts.
    static let notificationMissed = NotificationRule("NotificationMissedRule") { item in
        guard !item.isTest, !item.wasDelivered, !item.isKnown else { return nil }
        return item.finding(.notificationMissed, cause: "no delivery attempt succeeded")
    }
}
