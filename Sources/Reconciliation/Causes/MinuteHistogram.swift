package import Subscriptions

/// How many attempts fell into each minute, in memory that does not grow with their number.
///
/// Where attempts are scattered over too many minutes, several minutes are counted as one. The
/// outcome does not depend on the order in which attempts are added.
package struct MinuteHistogram: Hashable, Sendable {
    /// Minutes counted apart before they are counted in wider stretches.
    package static let stretches = 4096
    /// Attempts no further apart than this belong to one burst.
    package static let quietMinutes: Int64 = 5
    /// How many bursts are told.
    package static let burstsTold = 3

    private var minutesPerStretch: Int64 = 1
    private var counts: [Int64: Int] = [:]

    package init() {}

    package mutating func add(_ moment: Timestamp) {
        counts[Self.floor(moment.unixMilliseconds, by: 60_000 * minutesPerStretch), default: 0] += 1
        while counts.count > Self.stretches {
            minutesPerStretch *= 2
            var wider: [Int64: Int] = [:]
            for (stretch, count) in counts {
                wider[Self.floor(stretch, by: 2), default: 0] += count
            }
            counts = wider
        }
    }

    private static func floor(_ value: Int64, by divisor: Int64) -> Int64 {
        value >= 0 ? value / divisor : (value + 1) / divisor - 1
    }

    /// The largest bursts of at least two attempts, in the order of time.
    package var bursts: [CauseBurst] {
        var bursts: [CauseBurst] = []
        let length = minutesPerStretch * 60_000
        let quiet = max(Self.quietMinutes, minutesPerStretch) * 60_000
        for (stretch, count) in counts.sorted(by: { $0.key < $1.key }) {
            let (first, overflow) = stretch.multipliedReportingOverflow(by: length)
            let start = Timestamp(unixMilliseconds: overflow ? .min : first)
            let end = start.adding(milliseconds: length - 60_000)
            if let last = bursts.last, start.milliseconds(since: last.end) <= quiet {
                bursts[bursts.count - 1].end = end
                bursts[bursts.count - 1].notifications += count
            } else {
                bursts.append(CauseBurst(start: start, end: end, notifications: count))
            }
        }
        return bursts.filter { $0.notifications > 1 }
            .sorted { ($1.notifications, $0.start) < ($0.notifications, $1.start) }
            .prefix(Self.burstsTold).sorted { $0.start < $1.start }
    }
}
