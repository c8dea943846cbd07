/// How many calls may still be made so that no hour, wherever it begins, sees more than the limit.
///
/// Apple expresses its limits per second and enforces them by the hour ("Identifying rate limits").
/// Calls are counted by whole seconds and a second leaves the count only when all of it is more
/// than an hour old, so that rounding never allows one call too many.
package struct HourlyBudget: Sendable {
    private static let windowSeconds: Int64 = 3600

    package let limit: Int
    private var seconds: [(second: Int64, calls: Int)] = []
    /// Where the window begins in `seconds`; what lies before it is dropped in batches.
    private var first = 0
    private var total = 0

    package init(limit: Int) {
        precondition(limit > 0, "an hourly limit must allow a call")
        self.limit = limit
    }

    /// The earliest moment, not before `time`, at which one more call fits.
    package func earliest(from time: Duration) -> Duration {
        guard total >= limit else { return time }
        var inWindow = total
        for (second, calls) in seconds[first...] {
            let leaves = second + Self.windowSeconds + 1
            if leaves > time.components.seconds {
                if inWindow < limit { return time }
                // Not yet gone: the call must wait for this second to leave.
                if inWindow - calls < limit { return .seconds(leaves) }
            }
            inWindow -= calls
        }
        return time
    }

    /// Counts a call; times must not go backwards.
    package mutating func callWasMade(at time: Duration) {
        let second = time.components.seconds
        while first < seconds.count, seconds[first].second + Self.windowSeconds < second {
            total -= seconds[first].calls
            first += 1
        }
        if first > 512, first * 2 > seconds.count {
            seconds.removeFirst(first)
            first = 0
        }
        if seconds.count > first, seconds[seconds.count - 1].second >= second {
            seconds[seconds.count - 1].calls += 1
        } else {
            seconds.append((second, 1))
        }
        total += 1
    }
}
