/// Dates in HTTP headers (RFC 9110, section 5.6.7).
enum HTTPDate {
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
