import Dispatch
import PostgresDatabase
import SubscriptionStore
import Subscriptions

/// Tells once a second which server has not answered for longer than people wait without a word.
final class ServerWaitTeller {
    /// How long an answer may take before anything is said of it.
    private static let silence = Duration.seconds(10)

    /// For how long what was said holds where nothing is said any more.
    private static let milliseconds: Int64 = 60_000

    private let timer: any DispatchSourceTimer

    /// - Parameters:
    ///   - patience: Knows what is waited for.
    ///   - terminal: Where it is said.
    ///   - now: The wall clock.
    init(
        of patience: ServerPatience = .ofProcess, to terminal: ProgressLine,
        now: @escaping @Sendable () -> Timestamp
    ) {
        timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "trueup.waits"))
        let since = Since()
        timer.setEventHandler { terminal.note(since.wait(of: patience, at: now())) }
        timer.schedule(deadline: .now() + 1, repeating: 1)
        timer.activate()
    }

    deinit { timer.cancel() }

    /// Keeps the time of day that a wait was first said to have begun at: the two clocks drift.
    private final class Since: @unchecked Sendable {
        private var known: (wait: ServerPatience.Wait, time: Timestamp)?

        /// Only ever called from the timer's queue.
        func wait(of patience: ServerPatience, at now: Timestamp) -> LiveRun.Wait? {
            guard let wait = patience.wait else { return nil }
            let waited = wait.since.duration(to: .now)
            guard waited >= ServerWaitTeller.silence else { return nil }
            if known?.wait != wait {
                let milliseconds = Int64(waited / .milliseconds(1))
                known = (wait, now.adding(milliseconds: -milliseconds))
            }
            return LiveRun.Wait(
                reason: "an answer of " + wait.reason,
                until: now.adding(milliseconds: ServerWaitTeller.milliseconds), since: known?.time)
        }
    }
}
