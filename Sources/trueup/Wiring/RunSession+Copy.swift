import Glibc
import ReconciliationRun
import SubscriptionStore
import Subscriptions

extension RunSession {
    /// Reads the company's own table into the copy that the run judges by.
    ///
    /// A copy that is not whole is never judged by: rows that were not reached would look missing.
    ///
    /// - Parameters:
    ///   - store: The books.
    ///   - since: When the run began.
    ///   - stop: What a signal asks for.
    ///   - terminal: Who is told how far it is.
    /// - Returns: What was read; `nil` without a table elsewhere.
    /// - Throws: `CommandFailure` where a signal or `max_duration` ended the reading.
    func refreshCopy(
        in store: SQLiteStore, at since: Timestamp, until stop: StopRequest,
        telling terminal: ProgressLine
    ) async throws -> CopyRefresh? {
        let deadline = run.clock.deadline
        let refresh = try await store.refreshCopy(
            for: run.job.mode, at: since, of: run.job.narrowing.apps
        ) { rows, expected in
            terminal.show(
                RunProgress(
                    stage: .read, done: Int(clamping: rows),
                    total: expected.flatMap { $0 < rows ? nil : Int(clamping: $0) }))
            return stop.signal == nil && ContinuousClock.now < deadline
        }
        terminal.clear()
        guard let refresh, !refresh.isWhole else { return refresh }
        let kept =
            "after \(refresh.rows) rows of your table were read. Nothing was judged or written, and "
            + "there is no report. Rows that were read stay in the copy; run again."
        switch stop.signal {
        case SIGHUP: throw CommandFailure(.hungUp, "stopped by SIGHUP \(kept)")
        case SIGINT: throw CommandFailure(.interrupted, "stopped by SIGINT \(kept)")
        case SIGTERM: throw CommandFailure(.terminated, "stopped by SIGTERM \(kept)")
        default:
            throw CommandFailure(
                .incomplete,
                "max_duration is over \(kept) Raise max_duration where it is too short "
                    + "for the reading alone.")
        }
    }
}
