import Subscriptions

extension World {
    /// What Apple's notification history holds from now on, besides what it held.
    func tell(_ notifications: [RecordedNotification]) {
        apple.change { script in
            var all = notifications
            for case .answered(let page) in script.notifications { all += page.notifications }
            script.notifications = [
                .answered(
                    NotificationPage(notifications: all, hasMore: false, paginationToken: nil))
            ]
        }
    }

    static func notification(_ uuid: String, _ stated: StatedSubscription) -> RecordedNotification {
        var notification = RecordedNotification(
            evidence: payload("notification \(uuid)"), notificationUUID: uuid,
            notificationType: "DID_CHANGE_RENEWAL_STATUS", subtype: nil,
            signedDate: stated.signedDate, originalTransactionID: stated.originalTransactionID,
            sendAttempts: [SendAttempt(attemptDate: stated.signedDate, result: "SUCCESS")])
        notification.stated = stated
        return notification
    }
}
