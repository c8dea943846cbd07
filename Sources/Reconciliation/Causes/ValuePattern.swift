package import Subscriptions

/// A pattern in one wrong value that shows a mistake of the company's own, such as a time zone or a
/// unit.
package enum ValuePattern: Hashable, Sendable {
    /// The stored value is later by so many minutes (negative: earlier), which is the offset of a
    /// time zone.
    case offset(minutes: Int64)
    /// The stored value is Apple's divided by 1,000: seconds instead of milliseconds.
    case secondsForMilliseconds
    /// The stored value is Apple's multiplied by 1,000: milliseconds were read as seconds.
    case millisecondsForSeconds
    /// The ratio of two amounts: `ours` to `theirs`, of which one is 1 and the other 10 or 1,000.
    case factor(ours: Int64, theirs: Int64)

    /// The widest distance of a time zone from UTC (Line Islands, UTC+14).
    private static let widestZoneMinutes: Int64 = 14 * 60
    /// Smaller numbers are not times of Apple's in milliseconds (1973).
    private static let earliestMilliseconds: Int64 = 100_000_000_000
    /// Time zones differ by quarters of an hour.
    private static let zoneStepMilliseconds = 15 * Milliseconds.perMinute
    /// A local time may have been truncated or rounded to the second.
    private static let roundingMilliseconds = Milliseconds.perSecond

    /// Recognises a pattern in the two times or prices of a finding.
    init?(of finding: Finding) {
        if case .integer = finding.localValue, finding.kind != .price { return nil }
        self.init(
            ours: finding.localValue, theirs: finding.appleValue,
            mayBeZone: finding.environment != AppStoreEnvironment.sandbox.rawValue)
    }

    /// Recognises a pattern in two values; `nil` where there is none.
    ///
    /// `mayBeZone` is `false` in the sandbox, whose shortened periods differ by quarters of an hour
    /// anyway.
    package init?(ours: FieldValue, theirs: FieldValue, mayBeZone: Bool = true) {
        switch (ours, theirs) {
        case (.time(let ours), .time(let theirs)):
            self.init(ours: ours, theirs: theirs, mayBeZone: mayBeZone)
        case (.integer(let ours), .integer(let theirs)):
            self.init(ours: ours, theirs: theirs)
        default: return nil
        }
    }

    private init?(ours: Timestamp, theirs: Timestamp, mayBeZone: Bool) {
        let (our, their) = (ours.unixMilliseconds, theirs.unixMilliseconds)
        guard our > 0, their >= Self.earliestMilliseconds else { return nil }
        if Self.isScaled(our, to: their, roundedTo: Self.roundingMilliseconds) {
            self = .secondsForMilliseconds
            return
        }
        if Self.isScaled(their, to: our, roundedTo: Self.roundingMilliseconds * 1000) {
            self = .millisecondsForSeconds
            return
        }
        let distance = ours.milliseconds(since: theirs)
        guard mayBeZone, abs(distance) < (Self.widestZoneMinutes + 1) * 60_000 else { return nil }
        let half = Self.zoneStepMilliseconds / 2
        let steps = (distance + (distance < 0 ? -half : half)) / Self.zoneStepMilliseconds
        let minutes = steps * Self.zoneStepMilliseconds / 60_000
        let rest = distance - steps * Self.zoneStepMilliseconds
        guard minutes != 0, abs(minutes) <= Self.widestZoneMinutes,
            abs(rest) < Self.roundingMilliseconds
        else { return nil }
        self = .offset(minutes: minutes)
    }

    /// Whether `large` is a thousand times `small`, apart from rounding in units of `large`.
    private static func isScaled(
        _ small: Int64, to large: Int64, roundedTo step: Int64
    ) -> Bool {
        let (scaled, overflow) = small.multipliedReportingOverflow(by: 1000)
        guard !overflow else { return false }
        let (distance, tooFar) = scaled.subtractingReportingOverflow(large)
        return !tooFar && abs(distance) < step
    }

    /// Recognises whole units or cents that are stored instead of milliunits, and the reverse.
    private init?(ours: Int64, theirs: Int64) {
        guard ours != 0, theirs != 0 else { return nil }
        for factor: Int64 in [10, 1000] {
            if ours.multipliedReportingOverflow(by: factor) == (theirs, false) {
                self = .factor(ours: 1, theirs: factor)
                return
            }
            if theirs.multipliedReportingOverflow(by: factor) == (ours, false) {
                self = .factor(ours: factor, theirs: 1)
                return
            }
        }
        return nil
    }

    /// A short text that is the same for every value with this pattern.
    package var cause: String {
        switch self {
        case .offset(let minutes):
            return "time zone: constant offset of \(Self.hours(minutes)) h"
        case .secondsForMilliseconds: return "unit: seconds for milliseconds"
        case .millisecondsForSeconds: return "unit: milliseconds for seconds"
        case .factor(let ours, let theirs):
            return theirs > ours
                ? "unit: amount too small by a factor of \(theirs)"
                : "unit: amount too large by a factor of \(ours)"
        }
    }

    /// `+8`, `-3:30`.
    private static func hours(_ minutes: Int64) -> String {
        let rest = abs(minutes) % 60
        return (minutes < 0 ? "-" : "+") + "\(abs(minutes) / 60)" + (rest == 0 ? "" : ":\(rest)")
    }
}
