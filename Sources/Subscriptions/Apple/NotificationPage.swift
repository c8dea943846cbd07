/// The time range that one sweep of Get Notification History covers.
package struct NotificationWindow: Hashable, Sendable {
    package var start: Timestamp
    package var end: Timestamp

    package init(start: Timestamp, end: Timestamp) {
        self.start = start
        self.end = end
    }
}

/// One page of Get Notification History, with every notification in it verified.
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

/// A notification from Apple's history: its verified payload and Apple's record of its delivery.
package struct RecordedNotification: Hashable, Sendable {
    package var evidence: SignedPayload
    package var notificationUUID: String
    package var notificationType: String
    package var subtype: String?
    package var signedDate: Timestamp
    /// From the verified transaction or renewal info inside.
    ///
    /// `nil` where there is none (TEST …), and for other purchases than subscriptions, which have
    /// no status to ask for.
    package var originalTransactionID: String?
    package var sendAttempts: [SendAttempt]
    package var unknowns: [UnknownValue]
    /// The state of the subscription when it was sent; `nil` where it does not state all of it.
    package var stated: StatedSubscription?
    /// The one-time purchase that it is about; `nil` where it is about a subscription, or none.
    package var purchase: SignedTransaction?
    /// The event for the business; `nil` where the notification is not an event of a subscription.
    package var event: BusinessEvent?

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

/// One attempt of Apple's to deliver a notification.
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

/// The parts of a notification that the search for causes needs: its type, when Apple signed it,
/// and how its delivery went.
package struct TracedNotification: Hashable, Sendable {
    package var notificationUUID: String
    package var notificationType: String
    package var subtype: String?
    package var signedDate: Timestamp
    package var originalTransactionID: String
    package var sendAttempts: [SendAttempt]
    /// When the company's endpoint received it; `nil` when it did not, or that was not imported.
    package var receivedAt: Timestamp?
    /// Whether this checkpoint has a finding that it was missed or lost.
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
    /// Returns the notification for the search for causes; `nil` where it concerns no subscription.
    package func traced(receivedAt: Timestamp?, isReported: Bool) -> TracedNotification? {
        originalTransactionID.map { id in
            TracedNotification(
                notificationUUID: notificationUUID, notificationType: notificationType,
                subtype: subtype, signedDate: signedDate, originalTransactionID: id,
                sendAttempts: sendAttempts, receivedAt: receivedAt, isReported: isReported)
        }
    }
}

/// A page of an app's notification history as a run stores it.
package struct RecordedPage: Hashable, Sendable {
    /// Notifications that no earlier run stored out of Apple's history.
    package var fresh: [RecordedNotification]
    /// The findings about them; `field` names the notification.
    package var findings: [Finding]
    /// Every notification of the page that concerns a subscription, for the search for causes.
    package var traced: [TracedNotification]
    /// Whether the fresh ones go into the inbox: a check leaves it as it is.
    package var intoInbox: Bool
    /// Rows that a notification's own statement agrees with.
    package var settled: [RowOutcome] = []
    /// The outcomes of the one-time purchases that notifications name.
    package var purchases: [RowOutcome] = []
    /// Subscriptions that Apple must be asked about.
    package var pending: [NewQuestion] = []

    package init(
        fresh: [RecordedNotification], findings: [Finding] = [],
        traced: [TracedNotification] = [], intoInbox: Bool
    ) {
        self.fresh = fresh
        self.findings = findings
        self.traced = traced
        self.intoInbox = intoInbox
    }
}

/// The record of one notification in the store.
package struct InboxRecord: Hashable, Sendable {
    /// When the company's own endpoint received it; `nil` when it did not, or that is not known.
    package var receivedAt: Timestamp?
    /// When a run of trueup's stored it out of Apple's history.
    package var recoveredAt: Timestamp?

    package init(receivedAt: Timestamp?, recoveredAt: Timestamp?) {
        self.receivedAt = receivedAt
        self.recoveredAt = recoveredAt
    }
}
