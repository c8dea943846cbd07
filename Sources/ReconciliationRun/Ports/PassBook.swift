package import Subscriptions

/// The port to what a pass has judged so far; it outlives a killed process.
///
/// Within a pass each row is settled once: what is staged for a settled row is ignored, unless it
/// `replaces`. Every method is one short transaction.
package protocol PassBook: Sendable {
    /// Stores what was judged, in one transaction with the walk's position.
    func stage(_ batch: StagedBatch, in pass: OpenPass, run: RunHeader) async throws(StoreError)

    /// Which of these rows the pass has settled.
    func settled(
        among keys: [SubscriptionKey], in pass: OpenPass
    ) async throws(StoreError) -> Set<SubscriptionKey>

    /// Rows of this pass staged with `asksAgain`, in key order.
    func rowsToAskAgain(
        after key: SubscriptionKey?, limit: Int, in pass: OpenPass
    ) async throws(StoreError) -> [SubscriptionKey]

    /// An id of the app that the pass has judged; `nil` where there is none.
    func judgedID(of app: AppIdentity, in pass: OpenPass) async throws(StoreError) -> String?

    /// Which of these subscriptions a finding of the pass names as the true original or the
    /// successor of a row that we hold under another id: they are held, though not by their own name.
    func heldUnderOtherIDs(
        among keys: [SubscriptionKey], in pass: OpenPass
    ) async throws(StoreError) -> Set<SubscriptionKey>
}
