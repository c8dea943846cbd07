import Synchronization

/// A clock on which every sleep is over at once, because the time jumps to its end.
final class JumpingClock: Clock {
    struct Instant: InstantProtocol {
        var offset: Duration

        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private let time = Mutex(Duration.seconds(1000))

    var now: Instant { Instant(offset: time.withLock { $0 }) }
    var minimumResolution: Duration { .zero }

    /// Seconds since the clock began.
    var elapsed: Duration { now.offset - .seconds(1000) }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()
        time.withLock { $0 = max($0, deadline.offset) }
        await Task.yield()
    }
}

/// A clock that stands still: every sleep ends by cancellation only.
struct StoppedClock: Clock {
    var now: JumpingClock.Instant { JumpingClock.Instant(offset: .zero) }
    var minimumResolution: Duration { .zero }
    let sleepers: AsyncStream<Void>.Continuation

    func sleep(until deadline: JumpingClock.Instant, tolerance: Duration?) async throws {
        sleepers.yield()
        try await Task.sleep(for: .seconds(3600))
    }
}
