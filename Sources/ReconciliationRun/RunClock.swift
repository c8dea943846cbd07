package import Subscriptions

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
