import FoundationEssentials
import Subscriptions
import Synchronization

/// The world's time: the real one, moved forward by control calls; or a fixed one that only control
/// calls move.
final class SimulatedClock: Sendable {
    private struct State {
        var fixed: Timestamp?
        var aheadMilliseconds: Int64 = 0
        /// Where the clock stands while the calls of an earlier start are made again.
        var replayed: Timestamp?
    }

    private let state: Mutex<State>

    /// `fixed`: where the clock stands still; `nil` follows the real time.
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

    /// How far it was moved in all.
    var aheadMilliseconds: Int64 { state.withLock { $0.aheadMilliseconds } }

    func setAhead(milliseconds: Int64) {
        state.withLock { $0.aheadMilliseconds = milliseconds }
    }

    /// Shows one moment until it goes on.
    func stand(at moment: Timestamp) {
        state.withLock { $0.replayed = moment }
    }

    func goOn() {
        state.withLock { $0.replayed = nil }
    }

    static var realNow: Timestamp {
        Timestamp(unixMilliseconds: Int64(realSeconds * 1000))
    }

    static var realSeconds: Double { Date().timeIntervalSince1970 }
}
