package import Subscriptions

/// Counts delivery attempts by minute, in bounded memory.
///
/// When there are too many different minutes, several are counted as one. The result does not
/// depend on the order in which attempts are added.
package struct MinuteHistogram: Hashable, Sendable {
    /// How many stretches of minutes are counted before each is made twice as long.
    package static let stretches = 4096
    /// Attempts no further apart than this belong to one burst.
    package static let quietMinutes: Int64 = 5
    /// How many bursts are reported.
    package static let burstsTold = 3

    private var minutesPerStretch: Int64 = 1
    private var counts: [Int64: Int] = [:]

    package init() {}

    package mutating func add(_ moment: Timestamp) {
        let length = minutesPerStretch * Milliseconds.perMinute
        counts[moment.unixMilliseconds.floorDivided(by: length).quotient, default: 0] += 1
        while counts.count > Self.stretches {
            minutesPerStretch *= 2
            var wider: [Int64: Int] = [:]
            for (stretch, count) in counts {
                wider[stretch.floorDivided(by: 2).quotient, default: 0] += count
            }
            counts = wider
        }
    }

    /// The largest bursts of at least two attempts, in time order.
    package var bursts: [CauseBurst] {
        var bursts: [CauseBurst] = []
        let length = minutesPerStretch * Milliseconds.perMinute
        let quiet = max(Self.quietMinutes, minutesPerStretch) * Milliseconds.perMinute
        for (stretch, count) in counts.sorted(by: { $0.key < $1.key }) {
            let (first, overflow) = stretch.multipliedReportingOverflow(by: length)
            let start = Timestamp(unixMilliseconds: overflow ? .min : first)
            let end = start.adding(milliseconds: length - Milliseconds.perMinute)
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
