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
