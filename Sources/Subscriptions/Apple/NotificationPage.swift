/// The part of time that one sweep of Get Notification History covers.
package struct NotificationWindow: Hashable, Sendable {
    package var start: Timestamp
    package var end: Timestamp

    package init(start: Timestamp, end: Timestamp) {
        self.start = start
        self.end = end
    }
}

/// One page of Get Notification History, verified.
package struct NotificationPage: Hashable, Sendable {
    package var notifications: [RecordedNotification]
    package var rejected: [RejectedStatement]
    package var hasMore: Bool
    package var paginationToken: String?
    /// Unknown fields of the unsigned envelope.
    package var unknowns: [UnknownValue]

    package init(
        notifications: [RecordedNotification], rejected: [RejectedStatement] = [], hasMore: Bool,
        paginationToken: String?, unknowns: [UnknownValue] = []
    ) {
        self.notifications = notifications
        self.rejected = rejected
        self.hasMore = hasMore
        self.paginationToken = paginationToken
        self.unknowns = unknowns
    }
}

/// A notification out of Apple's history: verified payload and what Apple recorded of sending it.
package struct RecordedNotification: Hashable, Sendable {
    package var evidence: SignedPayload
    package var notificationUUID: String
    package var notificationType: String
    package var subtype: String?
    package var signedDate: Timestamp
    /// Of the inner, verified transaction or renewal info; `nil` where there is none (TEST …) and
    /// where it is no subscription's: a consumable has no status to ask for.
    package var originalTransactionID: String?
    package var sendAttempts: [SendAttempt]
    package var unknowns: [UnknownValue]

    package init(
        evidence: SignedPayload, notificationUUID: String, notificationType: String,
        subtype: String?, signedDate: Timestamp, originalTransactionID: String?,
        sendAttempts: [SendAttempt], unknowns: [UnknownValue] = []
    ) {
        self.evidence = evidence
        self.notificationUUID = notificationUUID
        self.notificationType = notificationType
        self.subtype = subtype
        self.signedDate = signedDate
        self.originalTransactionID = originalTransactionID
        self.sendAttempts = sendAttempts
        self.unknowns = unknowns
    }
}

/// One delivery that Apple attempted.
package struct SendAttempt: Hashable, Sendable {
    package var attemptDate: Timestamp
    /// `SUCCESS`, `TIMED_OUT`, … as Apple spells it.
    package var result: String

    package init(attemptDate: Timestamp, result: String) {
        self.attemptDate = attemptDate
        self.result = result
    }

    package var isSuccess: Bool { result == "SUCCESS" }
}
