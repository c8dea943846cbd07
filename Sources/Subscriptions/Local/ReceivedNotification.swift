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
    /// Lines whose `signed_date` is older than the stored row's, and those that an outdated statement skips.
    package var skippedAsOlder = 0
    package var outdated = OutdatedLines()
    /// Which row a constraint or a trigger of the company's refused, and why: the load ended there.
    package var refusal: String?

    package init() {}
}

/// Lines that rest on an older statement than the newest one that a run has seen about the subscription.
package struct OutdatedLines: Hashable, Sendable {
    /// Lines that would have changed a row and were skipped.
    package var skipped = 0
    /// Lines that were loaded, because the table has no such row.
    package var inserted = 0
    /// The first of the skipped and of the inserted lines.
    package var firstSkipped: OutdatedStatement?
    package var firstInserted: OutdatedStatement?

    package init() {}
}
