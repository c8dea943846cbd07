import Subscriptions

extension Sample {
    /// A notification out of Apple's history whose send attempts ended like this.
    static func notification(
        attempts: [String], _ change: (inout RecordedNotification) -> Void = { _ in }
    ) -> RecordedNotification {
        var notification = RecordedNotification(
            evidence: payload("notification"),
            notificationUUID: "002e14d5-51f5-4503-b5a8-c3a1af68eb20",
            notificationType: "DID_RENEW", subtype: "BILLING_RECOVERY",
            signedDate: now(days: -1), originalTransactionID: id,
            sendAttempts: attempts.map { SendAttempt(attemptDate: now(days: -1), result: $0) })
        change(&notification)
        return notification
    }
}
