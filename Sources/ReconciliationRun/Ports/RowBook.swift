package import Subscriptions

/// The port to what earlier runs noted about single subscriptions.
package protocol RowBook: Sendable {
    /// What is noted about these subscriptions, held or not; those without a note are left out.
    func notes(
        about keys: [SubscriptionKey]
    ) async throws(StoreError) -> [SubscriptionKey: RowNotes]

    /// Which of these rows the job's last run asked about in vain, for want of an answer.
    func failedLastTime(
        among keys: [SubscriptionKey], before run: RunHeader
    ) async throws(StoreError) -> Set<SubscriptionKey>
}
