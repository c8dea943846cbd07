import HTTPTransport
import Subscriptions

/// How far the clock of this machine is from Apple's, by the `Date` of an answer.
///
/// A clock that is some minutes off makes tokens that Apple refuses sooner or later, calls rows in
/// flight that are not, and dates what is written wrongly; nothing else of a run shows it.
struct ClockSkew {
    /// Beyond it a person must know: tokens live for minutes.
    private static let suspiciousMilliseconds: Int64 = 60_000

    private(set) var aheadMilliseconds: Int64?

    init() {}

    init(serverDate: String?, wallClock: Timestamp) {
        compare(serverDate: serverDate, wallClock: wallClock)
    }

    /// Of several answers the one that agrees best counts: a slow answer, or one out of a cache on
    /// the way, is older than its arrival.
    mutating func compare(serverDate: String?, wallClock: Timestamp) {
        guard let serverDate, let server = HTTPDate.unixMilliseconds(serverDate) else { return }
        let (ahead, overflow) = wallClock.unixMilliseconds.subtractingReportingOverflow(server)
        guard !overflow, ahead != .min, abs(ahead) < abs(aheadMilliseconds ?? .max) else { return }
        aheadMilliseconds = ahead
    }

    /// `nil` while the clocks agree, or nothing is known.
    var sentence: String? {
        guard let ahead = aheadMilliseconds, abs(ahead) > Self.suspiciousMilliseconds else {
            return nil
        }
        // The header has whole seconds, and the answer took its time: rounded, not cut.
        return "the clock of this machine is \((abs(ahead) + 500) / 1000) seconds"
            + " \(ahead > 0 ? "ahead of" : "behind") Apple's. Set it right (NTP)."
    }
}
