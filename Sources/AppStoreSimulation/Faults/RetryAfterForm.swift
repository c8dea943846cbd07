/// The form of a `Retry-After` header; Apple's is the first.
enum RetryAfterForm: String, Sendable, CaseIterable {
    case unixMilliseconds = "unix_milliseconds"
    case unixSeconds = "unix_seconds"
    case delaySeconds = "delay_seconds"
    case httpDate = "http_date"
    case missing
    case garbage
    case past
    case yearAhead = "year_ahead"

    /// The header's value for a moment; `nil` for no header.
    func value(unixMilliseconds now: Int64, until moment: Int64) -> String? {
        switch self {
        case .unixMilliseconds: return String(moment)
        case .unixSeconds: return String((moment + 999) / 1000)
        case .delaySeconds: return String((max(0, moment - now) + 999) / 1000)
        case .httpDate: return HTTPDate.text(unixSeconds: (moment + 999) / 1000)
        case .missing: return nil
        case .garbage: return "soon, perhaps"
        case .past: return String(now - 60_000)
        case .yearAhead: return String(now + 365 * CivilCalendar.millisecondsPerDay)
        }
    }
}

/// Dates in HTTP headers (RFC 9110, section 5.6.7).
private enum HTTPDate {
    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// For example `Fri, 20 Nov 2026 03:00:00 GMT`.
    static func text(unixSeconds: Int64) -> String {
        let days = unixSeconds / 86_400
        let second = unixSeconds % 86_400
        let (year, month, day) = CivilCalendar.date(fromDays: days)
        let parts = [second / 3600, second / 60 % 60, second % 60].map(padded)
        return "\(weekdays[Int(days % 7)]), \(padded(day)) \(months[Int(month) - 1]) \(year) "
            + parts.joined(separator: ":") + " GMT"
    }

    private static func padded(_ value: Int64) -> String {
        value < 10 ? "0\(value)" : String(value)
    }
}
