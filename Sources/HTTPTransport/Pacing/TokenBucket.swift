/// Assigns the times at which calls may start.
///
/// A caller takes a slot and waits for its time. Slots are `1 / rate` apart; after an idle time the
/// calls of one second may start at once. No hour has more than `rate × 3600` calls. Times are
/// durations since a fixed start, by a monotonic clock.
package struct TokenBucket: Sendable {
    private static let burstSeconds = 1.0

    private var budget: HourlyBudget
    /// The time at which a bucket without bursts would assign the next slot.
    private var nextEven: Duration = .zero
    private var lastSlot: Duration = .zero
    private var limitReachedUntil: Duration = .zero

    /// `limitPerSecond` may never be exceeded; the rate of a slot may be lower.
    package init(limitPerSecond: Double) {
        precondition(limitPerSecond > 0, "a rate must be above zero")
        budget = HourlyBudget(limit: Int(max(1, min(limitPerSecond * 3600, 1e15))))
    }

    /// When a call may start.
    package struct Slot: Hashable, Sendable {
        package var time: Duration
        /// Whether it waits because the calls of an hour are used up.
        ///
        /// The short wait after an hour of evenly spaced calls does not count.
        package var isLimitReached: Bool
    }

    /// Takes the next slot at `ratePerSecond`; it lies at `now` or later.
    package mutating func slotWasTaken(at now: Duration, ratePerSecond: Double) -> Slot {
        let interval = Duration.seconds(1 / ratePerSecond)
        // The calls of one second, including this one; slow rates have no burst.
        let tolerance = Duration.seconds(max(0, Self.burstSeconds - 1 / ratePerSecond))
        let even = max(nextEven, now - tolerance)
        let wanted = max(now, even, lastSlot)
        let slot = budget.earliest(from: wanted)
        // No burst may follow a wait for the end of the hour.
        nextEven = (slot > wanted ? slot : even) + interval
        lastSlot = slot
        budget.callWasMade(at: slot)
        if slot > wanted + .seconds(Self.burstSeconds) { limitReachedUntil = slot }
        return Slot(time: slot, isLimitReached: now < limitReachedUntil)
    }

    /// No call was or will be made in this slot, so it does not count for the hour.
    package mutating func slotWasGivenBack(_ slot: Slot) {
        budget.callWasNotMade(at: slot.time)
    }

    /// Assigns no slot before `time`, and no burst right after it.
    package mutating func wasPaused(until time: Duration) {
        nextEven = max(nextEven, time)
    }
}

/// Limits the calls of every period of 3,600 seconds, whenever it begins.
///
/// Apple states its limits per second and enforces them per hour ("Identifying rate limits"). Calls
/// are counted by whole seconds. A second is dropped only when all of it is more than an hour ago,
/// so that rounding never allows a call too many.
package struct HourlyBudget: Sendable {
    private static let windowSeconds: Int64 = 3600

    package let limit: Int
    private var seconds: [(second: Int64, calls: Int)] = []
    /// The index in `seconds` at which the window begins; earlier elements are removed in batches.
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

    /// Takes back a call that was counted at this time and not made.
    package mutating func callWasNotMade(at time: Duration) {
        let second = time.components.seconds
        guard let index = seconds[first...].lastIndex(where: { $0.second == second }),
            seconds[index].calls > 0
        else { return }
        seconds[index].calls -= 1
        total -= 1
    }
}

/// The request rate that the server tolerates: halved after a 429, slowly raised again.
///
/// A 429 below our own limit means that another program uses the same quota, such as the company's
/// own servers. Additive increase and multiplicative decrease finds the rate that is left.
package struct AdaptiveRate: Sendable {
    /// From half back to the whole in ten minutes.
    private static let recoveryOfConfiguredPerSecond = 0.5 / 600
    private static let lowestShare = 1.0 / 64
    /// Requests that were in flight at the same time are refused together, and count as one
    /// refusal.
    private static let oneRefusal: Duration = .seconds(5)

    package let configuredPerSecond: Double
    private var afterCut: Double
    private var lastCut: Duration?

    package init(configuredPerSecond: Double) {
        self.configuredPerSecond = configuredPerSecond
        afterCut = configuredPerSecond
    }

    /// A rate that was cut before, perhaps by an earlier process.
    ///
    /// `share` of the configured rate was left at `resumption`, which may lie before the start.
    package init(configuredPerSecond: Double, share: Double, resumption: Duration) {
        self.configuredPerSecond = configuredPerSecond
        let kept = share.isFinite ? min(1, max(Self.lowestShare, share)) : Self.lowestShare
        afterCut = configuredPerSecond * kept
        lastCut = resumption
    }

    /// The rate to use at `now`.
    package func perSecond(at now: Duration) -> Double {
        guard let lastCut else { return configuredPerSecond }
        let elapsed = max(0, (now - lastCut) / .seconds(1))
        return min(
            configuredPerSecond,
            afterCut + elapsed * configuredPerSecond * Self.recoveryOfConfiguredPerSecond)
    }

    /// Halves the rate, once for all requests that were refused together.
    ///
    /// The recovery begins at `resumption`, when calls are made again.
    ///
    /// - Returns: Whether it was halved now.
    @discardableResult
    package mutating func wasRateLimited(at now: Duration, resumption: Duration) -> Bool {
        if let lastCut, now < lastCut + Self.oneRefusal { return false }
        afterCut = max(configuredPerSecond * Self.lowestShare, perSecond(at: now) / 2)
        lastCut = max(now, resumption)
        return true
    }
}
