package import Subscriptions

/// The port to the company's rows, which its services read and write while a run goes on.
///
/// Nothing of a run is known here: which rows a pass has settled is asked of `PassBook`, what
/// earlier runs noted about them of `RowNotesBook`. Rows are changed by `PlanLedger` alone, each in one
/// transaction with its ledger entry.
package protocol CompanyTable: Sendable {
    /// The next rows in key order; fewer than `limit` only at the end of the table.
    func rows(
        after key: SubscriptionKey?, limit: Int
    ) async throws(StoreError) -> [HeldRow]

    /// The rows held under these original transaction ids in any app and environment, by key.
    func rows(
        holding originalTransactionIDs: [String]
    ) async throws(StoreError) -> [HeldRow]

    /// The keys of rows under these ids of apps whose rows this run does not read; none where every
    /// row is at hand.
    func keysOfUnreadApps(
        holding originalTransactionIDs: [String]
    ) async throws(StoreError) -> [SubscriptionKey]

    /// How many rows the table holds of each app and environment, in that order.
    func rowsByApp() async throws(StoreError) -> [AppRows]
}

/// The port to what earlier runs noted about single subscriptions.
package protocol RowNotesBook: Sendable {
    /// What is noted about these subscriptions, held or not; those without a note are left out.
    func notes(
        about keys: [SubscriptionKey]
    ) async throws(StoreError) -> [SubscriptionKey: RowNotes]

    /// Which of these rows the job's last run asked about in vain, for want of an answer.
    func failedLastTime(
        among keys: [SubscriptionKey], before run: RunHeader
    ) async throws(StoreError) -> Set<SubscriptionKey>
}
