package import Subscriptions

/// The port to the inbox of notifications, and to how far Apple's history of them was read.
package protocol RecoveryBook: Sendable {
    /// How far an app's notification history has been read; `nil` before the first time.
    func watermark(of app: AppIdentity) async throws(StoreError) -> Timestamp?

    /// What is known of these notifications.
    func inbox(
        of app: AppIdentity, notificationUUIDs: [String]
    ) async throws(StoreError) -> [String: InboxRecord]

    /// Stores one page of notifications: their findings, which subscriptions they touched, how
    /// they were sent and, when `intoInbox`, the notifications themselves.
    ///
    /// Of how one notification was sent the first account stands until the pass is over.
    func record(
        _ page: RecordedPage, of app: AppIdentity, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError)

    /// Marks a part of an app's notification history as read to its end in this pass and, unless
    /// `nil`, moves the app's watermark.
    func finishRecovery(
        of app: AppIdentity, read window: NotificationWindow, watermark: Timestamp?,
        in pass: OpenPass
    ) async throws(StoreError)

    /// Subscriptions touched by this pass's notifications that it has not settled, by id order.
    ///
    /// Those that a finding of the pass names as the true original or the successor of a row that
    /// we hold under another id are left out: they are held, though not by their own name.
    func touchedSubscriptions(
        of app: AppIdentity, after originalTransactionID: String?, limit: Int, in pass: OpenPass
    ) async throws(StoreError) -> [String]
}
