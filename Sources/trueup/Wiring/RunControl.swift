import AppStoreServerAPI
import Logging
import SubscriptionStore
import Subscriptions
import Synchronization

/// Takes the orders that people give a running job, and says so in its terminal and its log.
///
/// It looks for orders when it is told to, once a second; the pace of the calls asks it before each.
final class RunControl: Sendable {
    private let file: RunOrdersFile
    private let terminal: ProgressLine
    private let logger: Logger
    /// How to go on, as it is typed.
    private let resumption: String
    private let state: Mutex<RunOrders>

    /// - Parameters:
    ///   - file: Where orders are given; what is left there by an earlier run is taken away.
    ///   - run: Who takes them.
    ///   - resumption: The command that ends a pause.
    ///   - terminal: Where a person sees it.
    ///   - logger: The run's log.
    init(
        file: RunOrdersFile, run: LiveRun, resumption: String, terminal: ProgressLine,
        logger: Logger
    ) {
        self.file = file
        self.resumption = resumption
        self.terminal = terminal
        self.logger = logger
        state = Mutex(RunOrders(runID: run.runID, process: run.process))
        file.remove()
    }

    var orders: RunOrders { state.withLock(\.self) }

    /// As the calls are paced by them.
    var paceOrder: PaceOrder {
        state.withLock {
            PaceOrder(
                isPaused: $0.pause != nil, requestsPerSecond: $0.throttle?.requestsPerSecond)
        }
    }

    /// Reads the orders anew.
    func look() {
        let before = orders
        let now = file.read(forRun: before.runID, process: before.process)
        guard now != before else { return }
        state.withLock { $0 = now }
        terminal.note(now)
        if now.pause != before.pause { tell(now.pause) }
        if now.throttle != before.throttle { tell(now.throttle) }
    }

    /// Nobody's orders hold any longer.
    func end() { file.remove() }

    private func tell(_ pause: RunOrders.Pause?) {
        guard let pause else {
            logger.notice("pause.ended")
            return terminal.say("going on")
        }
        logger.notice(
            "pause.begun", metadata: ["by": "\(pause.by)", "since": "\(pause.since.rfc3339)"])
        terminal.say("\(pause.sentence); go on with: \(resumption)")
    }

    private func tell(_ throttle: RunOrders.Throttle?) {
        guard let throttle else {
            logger.notice("throttle.ended")
            return terminal.say("no longer throttled")
        }
        logger.notice(
            "throttle.begun",
            metadata: [
                "by": "\(throttle.by)", "since": "\(throttle.since.rfc3339)",
                "requests_per_second": "\(throttle.requestsPerSecond)",
            ])
        terminal.say(throttle.sentence)
    }
}

extension RunOrders.Pause {
    package var sentence: String { "paused since \(since.rfc3339) by \(PlainText.of(by))" }
}

extension RunOrders.Throttle {
    package var sentence: String {
        "throttled to \(requestsPerSecond) requests a second since \(since.rfc3339) by "
            + PlainText.of(by)
    }
}
