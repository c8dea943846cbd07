import FoundationEssentials
import Subscriptions
import Synchronization

/// The world's time: the real one, moved forward by control calls; or a fixed one that only control
/// calls move.
final class SimulatedClock: Sendable {
    private struct State {
        var fixed: Timestamp?
        var aheadMilliseconds: Int64 = 0
    }

    private let state: Mutex<State>

    /// `fixed`: where the clock stands still; `nil` follows the real time.
    init(fixed: Timestamp?) {
        state = Mutex(State(fixed: fixed))
    }

    var now: Timestamp {
        state.withLock { state in
            (state.fixed ?? Self.realNow).adding(milliseconds: state.aheadMilliseconds)
        }
    }

    /// Moves the clock forward.
    func advance(milliseconds: Int64) {
        state.withLock { $0.aheadMilliseconds += max(0, milliseconds) }
    }

    static var realNow: Timestamp {
        Timestamp(unixMilliseconds: Int64(realSeconds * 1000))
    }

    static var realSeconds: Double { Date().timeIntervalSince1970 }
}
