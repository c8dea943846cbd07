import FoundationEssentials
import Subscriptions
import Synchronization

/// The world's time, and how far the server's clock differs from the client's.
final class SimulatedClock: Sendable {
    /// The highest speed: a day in a second.
    static let fastest = 86_400.0

    /// How the world's time follows from the real time.
    struct Reading: Codable, Hashable, Sendable {
        /// The world's time at `since`, in milliseconds.
        var base: Int64
        /// A moment of real time, in milliseconds.
        var since: Int64
        /// 0 stands still, 1 runs as the real time does, 60 runs an hour in a minute.
        var speed: Double

        func time(atReal real: Int64) -> Int64 {
            base + Int64(Double(max(0, real - since)) * speed)
        }
    }

    private struct State {
        var reading: Reading
        var skewMilliseconds: Int64 = 0
        /// The time while the calls of an earlier start are replayed.
        var replayed: Timestamp?
    }

    /// Where the clock begins; `nil` for the real time.
    private let start: Timestamp?
    private let speed: Double
    private let state: Mutex<State>

    /// `start`: `nil` begins with the real time.
    init(start: Timestamp?, speed: Double) {
        self.start = start
        self.speed = speed
        state = Mutex(State(reading: Self.beginning(start, speed: speed)))
    }

    private static func beginning(_ start: Timestamp?, speed: Double) -> Reading {
        let real = realNow.unixMilliseconds
        return Reading(base: start?.unixMilliseconds ?? real, since: real, speed: speed)
    }

    var now: Timestamp { time(atReal: Self.realNow) }

    /// The world's time at a moment of the real time.
    func time(atReal real: Timestamp) -> Timestamp {
        state.withLock { state in
            state.replayed
                ?? Timestamp(unixMilliseconds: state.reading.time(atReal: real.unixMilliseconds))
        }
    }

    /// Moves the clock forward.
    func advance(milliseconds: Int64) {
        state.withLock { $0.reading.base += max(0, milliseconds) }
    }

    var reading: Reading { state.withLock { $0.reading } }

    /// Goes on from a reading of an earlier start.
    func set(_ reading: Reading) {
        state.withLock { $0.reading = reading }
    }

    /// Lets the clock run at another speed from now on.
    func run(atSpeed speed: Double) {
        state.withLock { state in
            let real = Self.realNow.unixMilliseconds
            state.reading = Reading(
                base: state.reading.time(atReal: real), since: real, speed: speed)
        }
    }

    /// Begins again, as at the start of the simulator, without a skew.
    func reset() {
        state.withLock { state in
            state = State(
                reading: Self.beginning(start, speed: speed), replayed: state.replayed)
        }
    }

    /// Shows this moment until the replay ends.
    func replay(at moment: Timestamp) {
        state.withLock { $0.replayed = moment }
    }

    func endReplay() {
        state.withLock { $0.replayed = nil }
    }

    /// How far the server's clock is ahead of the client's, which shows the real time.
    ///
    /// It concerns what the server checks or states by its clock: tokens, `signedDate` of answers,
    /// `Retry-After` and `Date`; no event of the world happens earlier or later.
    var skewMilliseconds: Int64 { state.withLock { $0.skewMilliseconds } }

    func setSkew(milliseconds: Int64) {
        state.withLock { $0.skewMilliseconds = milliseconds }
    }

    /// The real time as the server's clock shows it, in seconds.
    var serverSeconds: Double { Self.realSeconds + Double(skewMilliseconds) / 1000 }

    static var realNow: Timestamp {
        Timestamp(unixMilliseconds: Int64(realSeconds * 1000))
    }

    static var realSeconds: Double { Date().timeIntervalSince1970 }
}
