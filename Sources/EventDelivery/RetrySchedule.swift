package import Subscriptions

/// When an event is tried again: 5, 10, 20, 40 and 80 minutes after the first failures; the sixth
/// failure is the last.
///
/// Nothing waits for these times: the first run after one of them tries.
package enum RetrySchedule {
    package static let delaysMinutes: [Int64] = [5, 10, 20, 40, 80]

    package static var maximumAttempts: Int { delaysMinutes.count + 1 }

    /// - Parameters:
    ///   - failures: how often the event has failed, this time included.
    ///   - now: when it failed.
    ///   - retryAfter: what the receiver asked for; it can only make the wait longer.
    /// - Returns: the moment from which it is due again; `nil` when it is given up.
    package static func nextAttempt(
        afterFailures failures: Int, at now: Timestamp, retryAfter: Duration? = nil
    ) -> Timestamp? {
        guard failures >= 1, failures <= delaysMinutes.count else { return nil }
        let scheduled = delaysMinutes[failures - 1] * 60_000
        let asked = retryAfter.map { Int64($0 / .milliseconds(1)) } ?? 0
        return now.adding(milliseconds: max(scheduled, asked))
    }
}
