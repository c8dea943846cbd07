package import Subscriptions

/// The port to the findings of a pass with what may tell their cause.
package protocol CauseBook: Sendable {
    /// The parts of the notification histories that the pass has read to their end; nothing of an
    /// app whose history was not read.
    func historyRead(
        in pass: OpenPass
    ) async throws(StoreError) -> [AppIdentity: NotificationWindow]

    /// Findings of the pass in the order in which they were staged, with the notifications of
    /// their subscriptions.
    func findingsToExplain(
        after sequence: Int64?, limit: Int, in pass: OpenPass
    ) async throws(StoreError) -> [FindingToExplain]

    /// Keeps the causes of findings, by sequence number, for this run's report.
    ///
    /// They count once the run is concluded; a run killed before that leaves none behind.
    func explain(
        _ causes: [Int64: String], in pass: OpenPass, run: RunHeader
    ) async throws(StoreError)
}
