package import Subscriptions

/// The port to the inbox of notifications, and to how far Apple's history of them was read.
package protocol RecoveryBook: Sendable {
    /// How far an app's notification history has been read; `nil` before the first time.
    func watermark(of app: AppIdentity) async throws(StoreError) -> Timestamp?

    /// What is known of these notifications.
    func inbox(
        of app: AppIdentity, notificationUUIDs: [String]
    ) async throws(StoreError) -> [String: InboxRecord]

    /// Stores one page of notifications in one transaction: their findings, the rows that they
    /// settle, what must be asked because of them, how they were sent and, when `intoInbox`, the
    /// notifications themselves.
    ///
    /// Of two statements about one subscription the one signed later counts, in whatever order they
    /// come. What must be asked stays on the agenda until it is done; a check and a narrowed run
    /// keep it for their own pass.
    ///
    /// How a notification was sent is stored once in a pass: later accounts of it are ignored.
    func record(
        _ page: RecordedPage, of app: AppIdentity, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError)

    /// Marks a part of an app's notification history as read to its end in this pass and, unless
    /// `nil`, moves the app's watermark.
    func finishRecovery(
        of app: AppIdentity, read window: NotificationWindow, watermark: Timestamp?,
        in pass: OpenPass
    ) async throws(StoreError)
}
