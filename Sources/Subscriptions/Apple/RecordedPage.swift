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
    /// Subscriptions that Apple must be asked about.
    package var owed: [OwedQuestion] = []

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

/// What the store knows of one notification.
package struct InboxRecord: Hashable, Sendable {
    /// When the company's own endpoint received it; `nil` when it did not, or nobody told us.
    package var receivedAt: Timestamp?
    /// When a run of ours stored it out of Apple's history.
    package var recoveredAt: Timestamp?

    package init(receivedAt: Timestamp?, recoveredAt: Timestamp?) {
        self.receivedAt = receivedAt
        self.recoveredAt = recoveredAt
    }
}
