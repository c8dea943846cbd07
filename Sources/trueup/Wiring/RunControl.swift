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
    private let now: @Sendable () -> Timestamp
    private let state: Mutex<State>

    private struct State {
        var orders: RunOrders
        var history = OrderHistory()
    }

    /// - Parameters:
    ///   - file: Where orders are given; what is left there by an earlier run is taken away.
    ///   - run: Who takes them.
    ///   - resumption: The command that ends a pause.
    ///   - terminal: Where a person sees it.
    ///   - logger: The run's log.
    ///   - now: The wall clock.
    init(
        file: RunOrdersFile, run: LiveRun, resumption: String, terminal: ProgressLine,
        logger: Logger, now: @escaping @Sendable () -> Timestamp
    ) {
        self.file = file
        self.resumption = resumption
        self.terminal = terminal
        self.logger = logger
        self.now = now
        state = Mutex(State(orders: RunOrders(runID: run.runID, process: run.process)))
        file.remove()
    }

    var orders: RunOrders { state.withLock(\.orders) }

    /// What was ordered so far, for the run's report.
    var remarks: [String] {
        state.withLock { $0.history.sentences(stillHolding: $0.orders) }
    }

    /// As the calls are paced by them.
    var paceOrder: PaceOrder {
        state.withLock {
            PaceOrder(
                isPaused: $0.orders.pause != nil,
                requestsPerSecond: $0.orders.throttle?.requestsPerSecond)
        }
    }

    /// Reads the orders anew.
    func look() {
        let before = orders
        change(to: file.read(forRun: before.runID, process: before.process))
    }

    /// No more calls are made: what still holds ends, and the log says so.
    func callsEnded() {
        let before = orders
        if let pause = before.pause { logEnd(of: pause) }
        if let throttle = before.throttle { logEnd(of: throttle) }
    }

    /// Nobody's orders hold any longer.
    func end() { file.remove() }

    private func change(to orders: RunOrders) {
        let end = now()
        let before = state.withLock { state in
            let before = state.orders
            if let pause = before.pause, orders.pause != pause {
                state.history.add(pause, until: end)
            }
            if let throttle = before.throttle, orders.throttle != throttle {
                state.history.add(throttle, until: end)
            }
            state.orders = orders
            return before
        }
        guard orders != before else { return }
        terminal.note(orders)
        if orders.pause != before.pause { tell(orders.pause, after: before.pause) }
        if orders.throttle != before.throttle { tell(orders.throttle, after: before.throttle) }
    }

    private func logEnd(of pause: RunOrders.Pause) {
        logger.notice(
            "pause.ended", metadata: ["by": "\(pause.by)", "since": "\(pause.since.rfc3339)"])
    }

    private func logEnd(of throttle: RunOrders.Throttle) {
        logger.notice(
            "throttle.ended",
            metadata: [
                "by": "\(throttle.by)", "since": "\(throttle.since.rfc3339)",
                "requests_per_second": "\(throttle.requestsPerSecond)",
            ])
    }

    private func tell(_ pause: RunOrders.Pause?, after before: RunOrders.Pause?) {
        if let before { logEnd(of: before) }
        guard let pause else { return terminal.say("going on") }
        logger.notice(
            "pause.begun", metadata: ["by": "\(pause.by)", "since": "\(pause.since.rfc3339)"])
        terminal.say("\(pause.sentence); go on with: \(resumption)")
    }

    private func tell(_ throttle: RunOrders.Throttle?, after before: RunOrders.Throttle?) {
        if let before { logEnd(of: before) }
        guard let throttle else { return terminal.say("no longer throttled") }
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
