import ReconciliationRun
package import SubscriptionStore
package import Subscriptions
import Synchronization

/// Looks once a second at what people order, and tells other terminals how far the running job is.
///
/// Both go through files beside the database.
final class RunWatch: Sendable {
    private struct State {
        var isReporting = false
        var hasEnded = false
    }

    private static let interval = Duration.seconds(1)
    /// Between two looks at the books.
    private static let intervalOfQuotas = Duration.seconds(5)

    private let file: LiveRunFile
    private let run: LiveRun
    private let control: RunControl
    private let terminal: ProgressLine
    private let now: @Sendable () -> Timestamp
    /// What is used of the hour's quota; empty where that cannot be said.
    private let quota: @Sendable () async -> [LiveRun.QuotaUse]
    private let state = Mutex(State())

    /// - Parameters:
    ///   - database: The database's path.
    ///   - run: Who the job is; what it tells is added.
    ///   - control: What takes its orders.
    ///   - terminal: What is known of its progress.
    ///   - now: The wall clock.
    ///   - quota: Reads what is used of the hour.
    init(
        database: String, run: LiveRun, control: RunControl, terminal: ProgressLine,
        now: @escaping @Sendable () -> Timestamp,
        quota: @escaping @Sendable () async -> [LiveRun.QuotaUse]
    ) {
        file = LiveRunFile(besideDatabaseAt: database)
        self.run = run
        self.control = control
        self.terminal = terminal
        self.now = now
        self.quota = quota
    }

    /// Tells until the task is cancelled.
    func goOn() async {
        // Beside it: where the books are on a server, that may not answer.
        async let quotas: Void = noteQuotas()
        while !Task.isCancelled {
            control.look()
            tell()
            try? await Task.sleep(for: Self.interval)
        }
        await quotas
    }

    private func noteQuotas() async {
        while !Task.isCancelled {
            terminal.note(await quota())
            try? await Task.sleep(for: Self.intervalOfQuotas)
        }
    }

    /// From now on the report is written, and nothing else is done.
    func reportBegins() {
        state.withLock { $0.isReporting = true }
    }

    /// Takes the files away; nothing is told afterwards.
    func end() {
        state.withLock { state in
            guard !state.hasEnded else { return }
            state.hasEnded = true
            file.remove()
            control.end()
        }
    }

    private func tell() {
        let standing = terminal.standing
        // Under the lock, so that no late word comes back after the file was taken away.
        state.withLock { state in
            guard !state.hasEnded else { return }
            file.tell(
                state.isReporting && standing.progress?.stage != .report
                    ? run.reporting(at: now()) : run.standing(standing, at: now()))
        }
    }
}

extension LiveRun {
    /// - Parameters:
    ///   - standing: How far the run is.
    ///   - now: The present.
    /// - Returns: The same run with that.
    package func standing(_ standing: RunStanding, at now: Timestamp) -> LiveRun {
        var run = self
        run.writtenAt = now
        run.sentence = standing.sentence
        run.stage = standing.progress?.stage.rawValue
        run.done = standing.progress?.done
        run.total = standing.progress?.total
        run.donePerMinute = standing.perSecond.map { Int(min(1e15, $0 * 60)) }
        run.secondsLeft = standing.millisecondsLeft.map { Int($0 / 1000) }
        run.quota = standing.quota
        run.pause = standing.pause
        run.throttle = standing.throttle
        run.wait = standing.wait
        return run
    }

    fileprivate func reporting(at now: Timestamp) -> LiveRun {
        var run = self
        run.writtenAt = now
        run.stage = "report"
        run.sentence = "writing the report"
        return run
    }
}
