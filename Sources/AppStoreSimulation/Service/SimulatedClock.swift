import FoundationEssentials
import Subscriptions
import Synchronization

/// The world's time: the real time or a fixed moment, plus what control calls have added.
final class SimulatedClock: Sendable {
    private struct State {
        var fixed: Timestamp?
        var aheadMilliseconds: Int64 = 0
        /// The time while the calls of an earlier start are replayed.
        var replayed: Timestamp?
    }

    private let state: Mutex<State>

    /// `fixed`: the moment at which the clock stands still; `nil` follows the real time.
    init(fixed: Timestamp?) {
        state = Mutex(State(fixed: fixed))
    }

    var now: Timestamp {
        state.withLock { state in
            state.replayed
                ?? (state.fixed ?? Self.realNow).adding(milliseconds: state.aheadMilliseconds)
        }
    }

    /// Moves the clock forward.
    func advance(milliseconds: Int64) {
        state.withLock { $0.aheadMilliseconds += max(0, milliseconds) }
    }

    /// How far it was moved forward in total.
    var aheadMilliseconds: Int64 { state.withLock { $0.aheadMilliseconds } }

    func setAhead(milliseconds: Int64) {
        state.withLock { $0.aheadMilliseconds = milliseconds }
    }

    /// Shows this moment until the replay ends.
    func replay(at moment: Timestamp) {
        state.withLock { $0.replayed = moment }
    }

    func endReplay() {
        state.withLock { $0.replayed = nil }
    }

    static var realNow: Timestamp {
        Timestamp(unixMilliseconds: Int64(realSeconds * 1000))
    }

    static var realSeconds: Double { Date().timeIntervalSince1970 }
}
