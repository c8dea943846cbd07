package import Subscriptions

/// The port to the runs: how one begins, what it comes to, and how it ends.
package protocol RunBook: Sendable {
    /// Records the run and opens its pass: the unfinished one of the same job, mode and settings
    /// digest where it began less than `RunHeader.continuesWithinMilliseconds(killed:)` before, else
    /// a new one. Older unfinished passes of the job are dropped; their written corrections stay for
    /// the next report.
    func begin(_ run: RunHeader) async throws(StoreError) -> OpenPass

    /// How many of the rows that the run is about are not settled in the pass.
    func unreachedRows(in pass: OpenPass, run: RunHeader) async throws(StoreError) -> Int

    /// The findings of the pass that count for the exit status: unresolved ones, by severity.
    func unresolvedFindings(of pass: OpenPass) async throws(StoreError) -> [Severity: Int]

    /// Those of them that were not open when the last run ended.
    func newFindings(of pass: OpenPass) async throws(StoreError) -> [Severity: Int]

    /// Records how the run ended and closes its pass, or leaves it to the next run.
    ///
    /// Where the conclusion says so, rows that the pass did not settle become undecided
    /// (`deadline`) in this run's report; a run that continues the pass asks them after all.
    /// Planned corrections that were not applied leave their findings' action as `planned`. Notes about
    /// rows that the company deleted go where the table's size was accepted.
    ///
    /// - Parameters:
    ///   - conclusion: What the run knows of its end.
    ///   - pass: The run's pass.
    ///   - run: The run.
    ///   - ended: The time, asked when everything else is done; `nil` takes the conclusion's.
    ///   - progress: Takes how many rows are done, and of how many.
    /// - Throws: `StoreError`.
    func conclude(
        _ conclusion: RunConclusion, in pass: OpenPass, run: RunHeader,
        ended: (@Sendable () -> Timestamp)?, progress: (_ done: Int, _ total: Int) -> Void
    ) async throws(StoreError)
}

extension RunBook {
    /// Concludes a run where nobody watches.
    package func conclude(
        _ conclusion: RunConclusion, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) {
        try await conclude(conclusion, in: pass, run: run, ended: nil) { _, _ in }
    }
}

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
