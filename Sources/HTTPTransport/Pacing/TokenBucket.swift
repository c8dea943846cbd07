/// Hands out the moments at which calls may start.
///
/// A caller takes a slot and waits until it comes. Slots lie `1 / rate` apart; after a quiet time
/// one second's worth may start at once. No hour ever sees more than `rate × 3600` calls.
/// Times are durations since a fixed start, by a clock that never jumps.
package struct TokenBucket: Sendable {
    private static let burstSeconds = 1.0

    private var budget: HourlyBudget
    /// The moment at which a bucket without any burst would give the next slot.
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
        /// Whether the hour's calls are all made, so that this one waits for more than its turn; the
        /// moment that a full hour of even calls costs does not count.
        package var isLimitReached: Bool
    }

    /// Takes the next slot at `ratePerSecond`; it lies at `now` or later.
    package mutating func slotWasTaken(at now: Duration, ratePerSecond: Double) -> Slot {
        let interval = Duration.seconds(1 / ratePerSecond)
        // A whole second's worth, the slot itself included; slow rates get no burst at all.
        let tolerance = Duration.seconds(max(0, Self.burstSeconds - 1 / ratePerSecond))
        let even = max(nextEven, now - tolerance)
        let wanted = max(now, even, lastSlot)
        let slot = budget.earliest(from: wanted)
        // A wait for the hour must not be followed by a burst.
        nextEven = (slot > wanted ? slot : even) + interval
        lastSlot = slot
        budget.callWasMade(at: slot)
        if slot > wanted + .seconds(Self.burstSeconds) { limitReachedUntil = slot }
        return Slot(time: slot, isLimitReached: now < limitReachedUntil)
    }

    /// Gives no slot before `time`, and none in a burst right after it.
    package mutating func wasPaused(until time: Duration) {
        nextEven = max(nextEven, time)
    }
}
