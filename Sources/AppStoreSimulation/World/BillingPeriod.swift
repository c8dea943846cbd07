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

    /// Reads an ISO 8601 duration such as `P1W`, `P3D`, `P6M` or `P1Y`; at most ten years.
    init?(iso8601 text: String) {
        guard text.hasPrefix("P"), let unit = text.last,
            let count = Int(text.dropFirst().dropLast()),
            count > 0
        else { return nil }
        switch unit {
        case "D" where count <= 3650: self = .days(count)
        case "W" where count <= 520: self = .days(count * 7)
        case "M" where count <= 120: self = .months(count)
        case "Y" where count <= 10: self = .months(count * 12)
        default: return nil
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
