/// A notification of Apple's history as the search for causes needs it.
///
/// What it was, when Apple signed it, and how sending it went.
package struct TracedNotification: Hashable, Sendable {
    package var notificationUUID: String
    package var notificationType: String
    package var subtype: String?
    package var signedDate: Timestamp
    package var originalTransactionID: String
    package var sendAttempts: [SendAttempt]
    /// When the company's own endpoint received it; `nil` when it did not, or nobody told us.
    package var receivedAt: Timestamp?
    /// Whether the pass reports it as missed or lost.
    package var isReported: Bool

    package init(
        notificationUUID: String, notificationType: String, subtype: String?,
        signedDate: Timestamp, originalTransactionID: String, sendAttempts: [SendAttempt],
        receivedAt: Timestamp? = nil, isReported: Bool = false
    ) {
        self.notificationUUID = notificationUUID
        self.notificationType = notificationType
        self.subtype = subtype
        self.signedDate = signedDate
        self.originalTransactionID = originalTransactionID
        self.sendAttempts = sendAttempts
        self.receivedAt = receivedAt
        self.isReported = isReported
    }
}

extension RecordedNotification {
    /// What the search for causes needs of it; `nil` where it concerns no subscription.
    package func traced(receivedAt: Timestamp?, isReported: Bool) -> TracedNotification? {
        originalTransactionID.map { id in
            TracedNotification(
                notificationUUID: notificationUUID, notificationType: notificationType,
                subtype: subtype, signedDate: signedDate, originalTransactionID: id,
                sendAttempts: sendAttempts, receivedAt: receivedAt, isReported: isReported)
        }
    }
}
