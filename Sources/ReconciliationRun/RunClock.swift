package import Subscriptions
import Synchronization

/// The two clocks of a run: what time it is, and when it must end.
package struct RunClock: Sendable {
    /// The wall clock, or the rehearsal's.
    package let now: @Sendable () -> Timestamp
    /// By the monotonic clock, so that a wall clock that is set does not move it.
    package let deadline: ContinuousClock.Instant

    package init(now: @escaping @Sendable () -> Timestamp, deadline: ContinuousClock.Instant) {
        self.now = now
        self.deadline = deadline
    }

    var isPastDeadline: Bool { ContinuousClock.now >= deadline }
}

/// A request from outside to stop: which signal came, and whom to tell.
package final class StopRequest: Sendable {
    private struct State {
        var signal: Int32?
        var handler: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    package init() {}

    /// The signal that asked to stop, if one did.
    package var signal: Int32? { state.withLock { $0.signal } }

    /// With what a command ends that a signal stopped.
    package var exitStatus: ExitStatus {
        switch signal {
        case 1: .hungUp
        case 2: .interrupted
        default: .terminated
        }
    }

    /// Records a signal and wakes the waiting task; the first signal counts.
    package func request(signal: Int32) {
        let handler = state.withLock { state in
            state.signal = state.signal ?? signal
            return state.handler
        }
        handler?()
    }

    /// Runs what ends early, by cancellation, when a stop is requested.
    package func interruptible<Value: Sendable>(
        _ body: @escaping @Sendable () async -> Value
    ) async -> Value {
        let task = Task { await body() }
        let alreadyAsked = state.withLock { state in
            state.handler = { task.cancel() }
            return state.signal != nil
        }
        if alreadyAsked { task.cancel() }
        let value = await task.value
        state.withLock { $0.handler = nil }
        return value
    }
}
