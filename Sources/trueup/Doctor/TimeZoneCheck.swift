import Glibc
package import SubscriptionStore
import Subscriptions

/// Whether stored times look as if somebody's local time had been taken for UTC.
///
/// Apple's answer alone tells whether a row's `expires_date` is right. What shows without it is a row
/// that is a time zone away from its own period in `transactions`, in most of such cases by the same
/// offset; the run is protected by the guard `max_own_fault`.
package enum TimeZoneCheck {
    /// Fewer rows may differ by chance, as after an extension of some hours.
    private static let leastRows = 5

    /// - Parameters:
    ///   - differences: What the rows and their periods say; `nil` where they could not be read.
    ///   - offsets: How far this machine's clock on the wall is ahead of UTC, in milliseconds, over
    ///     the year.
    /// - Returns: A warning at most.
    package static func diagnosis(
        of differences: ExpiryDifferences?, offsets: Set<Int64>
    ) -> Diagnosis {
        let zone =
            offsets == [0]
            ? "this machine's is UTC"
            : "this machine's is "
                + offsets.sorted().map(Self.offset).joined(separator: " or ")
        guard let differences else {
            return .skipped("timezone", nil, "\(zone); the rows could not be read")
        }
        let all = differences.rows.values.reduce(0, +)
        guard let most = differences.rows.max(by: { ($0.value, $0.key) < ($1.value, $1.key) }),
            most.value >= leastRows, most.value > all / 2
        else {
            let compared =
                differences.compared > 0
                ? "; expires_date of \(differences.compared) rows was compared with their periods"
                : "; no row's period is stored to compare its expires_date with"
            return .ok("timezone", nil, zone + compared)
        }
        let isOwn = offsets.contains(most.key) || offsets.contains(-most.key)
        let whose = isOwn ? ", as far as this machine's local time is from UTC" : ""
        return .warning(
            "timezone", nil,
            "expires_date of \(most.value) rows is \(offset(most.key).drop { $0 == "+" }) off the "
                + "end of their own period in transactions\(whose); \(zone)",
            fix: "have what writes these times write UTC; the guard max_own_fault stops a run that "
                + "would correct them one by one")
    }

    /// `+2 h`, `-3 h 30 min`.
    private static func offset(_ milliseconds: Int64) -> String {
        let minutes = (milliseconds / 60_000).magnitude
        let parts = [
            minutes >= 60 || minutes == 0 ? "\(minutes / 60) h" : nil,
            minutes % 60 > 0 ? "\(minutes % 60) min" : nil,
        ].compactMap(\.self)
        return (milliseconds < 0 ? "-" : "+") + parts.joined(separator: " ")
    }

    /// The offsets of this machine's local time now and half a year from now.
    static func offsetsOfThisMachine(at now: Timestamp) -> Set<Int64> {
        tzset()
        let half: Int64 = 182 * 86_400
        let offsets = [0, half].map { ahead -> Int64 in
            var second = time_t(now.unixMilliseconds / 1000 + ahead)
            var parts = unsafe tm()
            guard unsafe localtime_r(&second, &parts) != nil else { return 0 }
            return unsafe Int64(parts.tm_gmtoff) * 1000
        }
        return Set(offsets)
    }
}
