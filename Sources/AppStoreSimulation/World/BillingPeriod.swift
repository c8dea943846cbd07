import Subscriptions

/// The length of a paid period; months are calendar months.
package enum BillingPeriod: Hashable, Sendable {
    case days(Int)
    case months(Int)

    /// The end of a period that begins at `start`.
    func end(after start: Timestamp) -> Timestamp {
        switch self {
        case .days(let count):
            start.adding(milliseconds: Int64(count) * CivilCalendar.millisecondsPerDay)
        case .months(let count):
            CivilCalendar.adding(months: count, to: start)
        }
    }

    /// ISO 8601, as Apple writes offer periods.
    var iso8601: String {
        switch self {
        case .days(let count): count % 7 == 0 ? "P\(count / 7)W" : "P\(count)D"
        case .months(let count): count % 12 == 0 ? "P\(count / 12)Y" : "P\(count)M"
        }
    }

    /// Apple's grace period is six days for weekly subscriptions and up to the chosen length
    /// (3, 16 or 28 days) for longer ones.
    func graceDays(chosen: Int) -> Int {
        if case .days(let count) = self, count <= 7 { return min(chosen, 6) }
        return chosen
    }
}
