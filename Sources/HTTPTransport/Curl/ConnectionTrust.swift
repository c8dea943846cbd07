/// Whether the connections at hand may be dead without anybody knowing.
///
/// A time-out ends one HTTP/2 stream, not its connection, and libcurl would put the next requests
/// on the same one. When the path behind it is dead, every one of them would time out as well. So
/// after a time-out, requests open new connections until one of them is answered, and older ones
/// are dropped as soon as they are idle.
package struct ConnectionTrust {
    private var lastTimeout: ContinuousClock.Instant?
    package private(set) var isLost = false

    package init() {}

    package mutating func exchangeTimedOut(at now: ContinuousClock.Instant) {
        lastTimeout = now
        isLost = true
    }

    package mutating func responseCame() {
        isLost = false
    }

    /// Seconds since the last time-out; `nil` when there was none.
    package func secondsSinceTimeout(at now: ContinuousClock.Instant) -> Int? {
        lastTimeout.map { Int($0.duration(to: now).components.seconds) }
    }
}
