package import Subscriptions

/// The port to Apple for one app: questions in, verified answers out.
///
/// An implementation paces, retries, authorizes and verifies; a caller only awaits. Faults of the
/// whole run are thrown, everything about one question is a `Lookup` case.
package protocol AppStore: Sendable {
    var app: AppIdentity { get }

    /// Get All Subscription Statuses, without a filter.
    func subscriptionStatuses(
        of id: TransactionID
    ) async throws(RunStop) -> Lookup<StatusAnswer>

    /// Get Transaction Info.
    func transactionInfo(
        of id: TransactionID
    ) async throws(RunStop) -> Lookup<SignedTransaction>

    /// One page of Get Transaction History V2, ascending, unfiltered, after `revision`.
    func transactionHistory(
        of id: TransactionID, after revision: String?
    ) async throws(RunStop) -> Lookup<HistoryPage>

    /// One page of Get Refund History V2, after `revision`: refunds of the customer's purchases.
    func refundHistory(
        of id: TransactionID, after revision: String?
    ) async throws(RunStop) -> Lookup<HistoryPage>

    /// One page of Get Notification History for the whole app.
    func notificationHistory(
        in window: NotificationWindow, paginationToken: String?
    ) async throws(RunStop) -> Lookup<NotificationPage>

    /// Calls so far, by endpoint and result.
    func callCounts() -> [CallCount]

    /// The reason why no more rows can be checked: the run gave up Get All Subscription Statuses.
    func outage() -> String?

    /// Remarks about the answers so far, in sentences; they change no verdict.
    func remarks() -> [String]
}

extension AppStore {
    package func outage() -> String? { nil }

    package func remarks() -> [String] { [] }
}
