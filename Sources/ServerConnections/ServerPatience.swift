import Glibc
import Synchronization

/// How long the sessions of one process wait for their servers, and what they wait for now.
///
/// The server's own limits end a statement that takes too long. They end nothing where the server's
/// process is frozen, or where a proxy forwards nothing: then only our side can stop waiting.
package final class ServerPatience: Sendable {
    /// The patience of this process, whose signals end every wait.
    package static let ofProcess = ServerPatience()

    /// How long one answer is waited for.
    package struct Limits: Sendable {
        /// One statement: the 30 s that a server may work on it, and a margin.
        package var answer = Duration.milliseconds(40_000)
        /// The longest wait after an earlier one was in vain and no server has answered since.
        package var answerOnceLost = Duration.seconds(5)
        /// The longest wait for an answer after a signal.
        package var answerOnceStopped = Duration.milliseconds(1500)
        /// The longest wait for an answer after a signal and a wait in vain.
        package var answerOnceStoppedAndLost = Duration.milliseconds(300)
        /// The longest wait for the cancelling of a statement through a second connection.
        package var cancellation = Duration.seconds(3)
        /// The longest wait for a cancellation after a signal.
        package var cancellationOnceStopped = Duration.milliseconds(500)

        package init() {}
    }

    /// An answer that is waited for.
    package struct Wait: Hashable, Sendable {
        /// Which server, and what it was asked for.
        package var reason: String
        package var since: ContinuousClock.Instant
    }

    private struct State {
        var stoppedAt: ContinuousClock.Instant?
        var isLost = false
        var wasLostOnceStopped = false
        var isGivenUp = false
        var waits: [UInt64: Wait] = [:]
        var last: UInt64 = 0
    }

    private let limits: Limits
    private let state = Mutex(State())

    package init(_ limits: Limits = Limits()) { self.limits = limits }

    /// Ends every wait soon: a signal asks the process to stop.
    package func stop() { state.withLock { $0.stoppedAt = $0.stoppedAt ?? .now } }

    package var isStopped: Bool { state.withLock { $0.stoppedAt != nil } }

    /// Notes that the servers were waited for as long as a run waits: until one answers, no other session
    /// waits for as long once more.
    package func giveUp() { state.withLock { $0.isGivenUp = true } }

    /// Whether `giveUp` was called and no server has answered since.
    package var isGivenUp: Bool { state.withLock { $0.isGivenUp } }

    /// The answer that has been waited for longest.
    package var wait: Wait? {
        state.withLock { $0.waits.values.min { $0.since < $1.since } }
    }

    /// Notes that an answer is waited for.
    ///
    /// - Parameter reason: Which server, and what it was asked for.
    /// - Returns: The number by which the wait is ended.
    package func begins(_ reason: String) -> UInt64 {
        state.withLock { state in
            state.last &+= 1
            state.waits[state.last] = Wait(reason: reason, since: .now)
            return state.last
        }
    }

    /// Notes that the wait for an answer is over.
    ///
    /// - Parameters:
    ///   - number: As `begins` returned it.
    ///   - isAnswered: Whether the server said anything.
    package func ends(_ number: UInt64, isAnswered: Bool) {
        state.withLock { state in
            state.waits[number] = nil
            state.isLost = !isAnswered
            if isAnswered { state.isGivenUp = false }
            if !isAnswered, state.stoppedAt != nil { state.wasLostOnceStopped = true }
        }
    }

    /// When to give up an answer that has been waited for since a moment; a signal moves it forward.
    ///
    /// - Parameters:
    ///   - begin: When it was asked for.
    ///   - usual: In place of the limit of a statement.
    /// - Returns: The moment.
    package func end(ofWaitSince begin: ContinuousClock.Instant, usual: Duration? = nil)
        -> ContinuousClock.Instant
    {
        state.withLock { state in
            let usual = usual ?? limits.answer
            let end = begin + (state.isLost ? min(limits.answerOnceLost, usual) : usual)
            guard let stopped = state.stoppedAt else { return end }
            let rest =
                state.wasLostOnceStopped
                ? limits.answerOnceStoppedAndLost : limits.answerOnceStopped
            return min(end, max(begin, stopped) + rest)
        }
    }

    /// How long a cancelled statement may take to end.
    package var cancellation: Duration {
        state.withLock {
            $0.stoppedAt == nil ? limits.cancellation : limits.cancellationOnceStopped
        }
    }

    /// Sleeps; a signal ends it.
    ///
    /// - Returns: Whether no signal has come.
    package func pause(milliseconds: UInt32) -> Bool {
        let end = ContinuousClock.now + .milliseconds(Int64(milliseconds))
        while !isStopped {
            let left = ContinuousClock.now.duration(to: end)
            guard left > .zero else { return true }
            usleep(UInt32(min(left, .milliseconds(100)) / .microseconds(1)))
        }
        return false
    }
}
