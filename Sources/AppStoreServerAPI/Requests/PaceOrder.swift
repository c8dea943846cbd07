/// What people have asked of the pace of a run that is going on.
package struct PaceOrder: Hashable, Sendable {
    /// How long a held request waits before it looks again, and so the latest that a changed order is
    /// seen by it.
    static let interval: Duration = .milliseconds(500)

    /// Nothing is asked until this is taken back.
    package var isPaused: Bool
    /// For each endpoint; a rate above the configured one changes nothing.
    package var requestsPerSecond: Double?

    package init(isPaused: Bool = false, requestsPerSecond: Double? = nil) {
        self.isPaused = isPaused
        self.requestsPerSecond = requestsPerSecond
    }

    /// Whether a turn that was given under an earlier order is void under this one.
    ///
    /// Turns are given ahead, at slow rates for half a minute; a person who orders a pause does not
    /// want to wait for them.
    func revokes(_ earlier: PaceOrder) -> Bool {
        isPaused || requestsPerSecond != earlier.requestsPerSecond
    }
}

/// Says when the requests of one endpoint may ask for a turn, by what people have ordered.
///
/// Pure: times and orders come in, the end of the wait goes out. A throttled endpoint gives out one
/// turn at a time and none ahead, so that a later order finds nobody who waits for an earlier one.
struct OrderedPace: Hashable {
    /// No turn is further away than this, however small the ordered rate.
    private static let longestPauseSeconds = 3600.0

    private var nextTurn: Duration = .zero

    /// A request wants a turn.
    ///
    /// - Parameters:
    ///   - now: The present.
    ///   - order: What holds now.
    /// - Returns: When to ask again; `nil` when it may have a turn, which then counts as taken.
    mutating func turnWasWanted(at now: Duration, under order: PaceOrder) -> Duration? {
        if order.isPaused { return now + PaceOrder.interval }
        guard let rate = order.requestsPerSecond, rate > 0 else {
            nextTurn = .zero
            return nil
        }
        if now < nextTurn { return min(nextTurn, now + PaceOrder.interval) }
        nextTurn = now + .seconds(min(Self.longestPauseSeconds, 1 / rate))
        return nil
    }
}
