package import Subscriptions

/// The port to what must be asked, and why: durable lines for what is owed whoever asks, and the
/// questions that one pass found among the rows (docs/delta.md).
///
/// Lines are put there by `RecoveryBook.record` and by `schedule`, and leave with the conclusion of
/// a run that works off the agenda.
package protocol AgendaBook: Sendable {
    /// Reads every row with its last check, once, and puts those for which `due` names a reason
    /// among the questions of the pass, together with a sample of the others.
    ///
    /// A pass is scheduled once; later calls return what the first one found. `level` says how many
    /// rows to sweep tonight, given how many reach the allowed age in so many days, 0 being overdue.
    /// `due` says why Apple must be asked about a row, given the last rows that the sweep takes.
    func schedule(
        _ request: ScheduleRequest, in pass: OpenPass, run: RunHeader,
        level: @escaping @Sendable ([Int: Int]) -> Int,
        due: @escaping @Sendable (ScheduledRow, SweepEnds) -> QuestionReason?
    ) async throws(StoreError) -> ScheduleCounts

    /// The next lines of a part of the agenda in their order, settled ones included; fewer than
    /// `limit` only at the end.
    func lines(
        of part: AgendaPart, after position: AgendaPosition?, limit: Int, in pass: OpenPass
    ) async throws(StoreError) -> [AgendaLine]

    /// What the run has asked and what it leaves, by reason; `bound` is left to the caller.
    func coverage(
        kind: RunCoverage.Kind, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) -> RunCoverage

    /// Adds to the pass's findings those that earlier reports of the job left open and that this
    /// pass did not look at, so that they are not forgotten. What the pass has found itself gets no
    /// second line.
    func carryOpenFindings(in pass: OpenPass, run: RunHeader) async throws(StoreError)
}
