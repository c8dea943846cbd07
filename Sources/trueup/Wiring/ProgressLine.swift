package import ReconciliationRun
package import SubscriptionStore
package import Subscriptions
import Synchronization

/// What a person at the terminal sees of a run: how far it is, what it waits for, and what happened
/// on the way.
///
/// On a terminal progress and waits are one line that is written over; elsewhere progress is a line
/// now and then, and every wait a line of its own, at once.
package final class ProgressLine: Sendable {
    private struct State {
        var lastShown: ContinuousClock.Instant?
        var isOpen = false
        var progress: RunProgress?
        /// What was heard of the present stage: its beginning, or what is older than the time over
        /// which the rate is taken, and a newer point.
        var began: (at: ContinuousClock.Instant, progress: RunProgress)?
        var newer: (at: ContinuousClock.Instant, progress: RunProgress)?
        /// The last wait that was told; it may be over.
        var wait: RunStanding.Wait?
        /// The answer of a server that is waited for.
        var serverWait: RunStanding.Wait?
        var quota: [LiveRun.QuotaUse] = []
        var orders: RunOrders?
    }

    private let state = Mutex(State())
    private let isTerminal: Bool
    private let isQuiet: Bool
    private let now: @Sendable () -> Timestamp
    private let columns: @Sendable () -> Int
    private let write: @Sendable (String) -> Void

    private static let terminalInterval = Duration.milliseconds(200)
    private static let logInterval = Duration.seconds(30)
    /// The rate is that of the last one to two times as long: a run slows down and speeds up.
    private static let rateInterval = Duration.seconds(15)

    /// - Parameters:
    ///   - isTerminal: Whether a line can be written over.
    ///   - isQuiet: Whether nothing is said at all.
    ///   - now: The wall clock, by which waits end.
    ///   - columns: How wide the terminal is now.
    ///   - write: Where it is said; never standard output.
    package init(
        isTerminal: Bool, isQuiet: Bool, now: @escaping @Sendable () -> Timestamp,
        columns: @escaping @Sendable () -> Int = { 80 },
        write: @escaping @Sendable (String) -> Void
    ) {
        self.isTerminal = isTerminal && !isQuiet
        self.isQuiet = isQuiet
        self.now = now
        self.columns = columns
        self.write = write
    }

    package func show(_ progress: RunProgress) {
        let now = ContinuousClock.now
        let isDue = state.withLock { state in
            state.progress = progress
            if state.began?.progress.stage != progress.stage {
                state.began = (now, progress)
                state.newer = nil
            } else if let newer = state.newer ?? state.began, now - newer.at >= Self.rateInterval {
                if state.newer != nil { state.began = newer }
                state.newer = (now, progress)
            }
            let interval = isTerminal ? Self.terminalInterval : Self.logInterval
            guard !isQuiet else { return false }
            // Short runs on a schedule need no progress at all.
            guard let last = state.lastShown else {
                state.lastShown = now
                return isTerminal
            }
            guard now - last >= interval else { return false }
            state.lastShown = now
            return true
        }
        guard isDue else { return }
        guard !isTerminal else { return overwrite() }
        if let sentence = standing.sentence { write("trueup: \(PlainText.of(sentence))\n") }
    }

    /// Says that nothing is asked until `end`.
    ///
    /// - Parameters:
    ///   - sentence: All of it, with the time, for a line of its own.
    ///   - reason: In a few words, for the line that is written over.
    ///   - end: When the run goes on.
    package func wait(_ sentence: String, for reason: String, until end: Timestamp) {
        state.withLock { $0.wait = RunStanding.Wait(reason: reason, until: end) }
        guard !isQuiet else { return }
        guard isTerminal else { return write("trueup: \(PlainText.of(sentence))\n") }
        overwrite()
    }

    /// Notes which server is waited for, and says so once for each wait.
    ///
    /// - Parameter wait: `nil` where none is.
    package func note(_ wait: RunStanding.Wait?) {
        let before = state.withLock { state in
            defer { state.serverWait = wait }
            return state.serverWait
        }
        guard !isQuiet, let wait else { return }
        guard !isTerminal else { return overwrite() }
        guard before?.reason != wait.reason || before?.since != wait.since else { return }
        write("trueup: \(wait.sentence)\n")
    }

    /// Notes what is used of the hour; it is shown with the next progress.
    package func note(_ quota: [LiveRun.QuotaUse]) {
        state.withLock { $0.quota = quota }
    }

    /// Notes what people have ordered.
    package func note(_ orders: RunOrders) {
        let now = ContinuousClock.now
        state.withLock { state in
            // What was done at another pace says nothing of what is left.
            if state.orders?.throttle?.requestsPerSecond != orders.throttle?.requestsPerSecond {
                state.began = state.progress.map { (now, $0) }
                state.newer = nil
            }
            state.orders = orders
        }
    }

    /// Says something in a line of its own.
    package func say(_ sentence: String) {
        clear()
        guard !isQuiet else { return }
        write("trueup: \(PlainText.of(sentence))\n")
        if isTerminal, standing.wait != nil || standing.pause != nil { overwrite() }
    }

    /// Clears the line that is written over, before anything else is written.
    package func clear() {
        let isOpen = state.withLock { state in
            defer { state.isOpen = false }
            return state.isOpen
        }
        if isOpen { write("\r\u{1B}[K") }
    }

    /// What the run has said of itself so far, whether or not anybody saw it.
    package var standing: RunStanding {
        let now = now()
        return state.withLock { state in
            var standing = RunStanding(
                progress: state.progress,
                perSecond: Self.rate(
                    since: state.began, state.progress,
                    atMost: state.orders?.throttle?.requestsPerSecond),
                wait: state.serverWait
                    ?? state.wait.flatMap { $0.until > now ? $0 : nil },
                quota: state.quota)
            standing.pause = state.orders?.pause
            standing.throttle = state.orders?.throttle
            return standing
        }
    }

    private func overwrite() {
        let line = standing.line(within: max(1, columns() - 1))
        state.withLock { $0.isOpen = true }
        write("\r\u{1B}[K" + PlainText.of(line))
    }

    /// `nil` until there is something to tell.
    private static func rate(
        since began: (at: ContinuousClock.Instant, progress: RunProgress)?,
        _ progress: RunProgress?, atMost throttle: Double?
    ) -> Double? {
        guard let began, let progress, began.progress.stage == progress.stage else { return nil }
        let seconds = (ContinuousClock.now - began.at) / .seconds(1)
        let done = progress.done - began.progress.done
        let asks = [.walk, .again].contains(progress.stage)
        guard seconds >= 1, done > 0 else { return nil }
        let rate = Double(done) / seconds
        // A row takes a call at least.
        return asks ? throttle.map { min($0, rate) } ?? rate : rate
    }
}
