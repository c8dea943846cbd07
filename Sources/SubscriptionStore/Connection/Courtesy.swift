import Subscriptions
import Synchronization

/// Lets others have a turn between two writes.
///
/// SQLite has no queue: who waits for the lock looks again and again, up to 100 ms apart, and a job
/// that takes the lock at once after it freed it can be in the way at every look, however short its
/// transactions. So after each longer one the lock stays free for as long as it was held.
final class Courtesy: Sendable {
    private let last = Mutex<(ended: ContinuousClock.Instant, took: Duration)?>(nil)

    func wrote(from start: ContinuousClock.Instant, to end: ContinuousClock.Instant) {
        last.withLock { $0 = (end, start.duration(to: end)) }
    }

    /// How long to leave the lock alone still.
    var pause: Duration {
        guard let last = last.withLock(\.self),
            last.took >= .milliseconds(StoreLimits.courteousAfterMilliseconds)
        else { return .zero }
        let turn = min(last.took, .milliseconds(StoreLimits.courtesyMilliseconds))
        return max(.zero, turn - last.ended.duration(to: .now))
    }
}
