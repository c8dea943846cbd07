/// A notification that the company's own endpoint received, imported into the inbox.
package struct ReceivedNotification: Hashable, Sendable {
    package var notificationUUID: String
    /// `nil` where the imported file does not state it.
    package var receivedAt: Timestamp?

    package init(notificationUUID: String, receivedAt: Timestamp?) {
        self.notificationUUID = notificationUUID
        self.receivedAt = receivedAt
    }
}

/// The counts of importing a file.
package struct LoadCounts: Hashable, Sendable {
    package var inserted = 0
    package var updated = 0
    package var unchanged = 0
    /// Lines whose `signed_date` is older than the stored row's.
    package var skippedAsOlder = 0

    package init() {}
}
