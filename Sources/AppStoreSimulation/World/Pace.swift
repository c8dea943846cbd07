import Subscriptions

/// How long paid periods last: as in production, or accelerated as in Apple's sandbox.
///
/// Source: App Store Server API reference, sandbox differences: a month lasts five minutes and a week
/// three unless the account is set otherwise, grace and retry are scaled too, and auto-renewal stops after
/// twelve renewals. Other lengths are in proportion.
struct Pace: Hashable, Sendable {
    /// The length of a month; `nil` for the calendar's.
    let monthMilliseconds: Int64?

    static let production = Pace(monthMinutes: nil)

    /// `monthMinutes`: `nil` for the calendar's months.
    init(monthMinutes: Int?) {
        monthMilliseconds = monthMinutes.map { Int64($0) * 60_000 }
    }

    private static let daysOfMonth: Int64 = 30

    /// How many renewals in a row there are at most; `nil` for no limit.
    var highestRenewals: Int? { monthMilliseconds == nil ? nil : 12 }

    /// The end of a period that begins at `start`.
    func end(of period: BillingPeriod, after start: Timestamp) -> Timestamp {
        guard let month = monthMilliseconds else { return period.end(after: start) }
        switch period {
        case .months(let count): return start.adding(milliseconds: Int64(count) * month)
        // A week is three fifths of a month.
        case .days(let count): return start.adding(milliseconds: Int64(count) * month * 3 / 35)
        }
    }

    /// A time that grows with the length of a period, such as a grace period.
    func scaled(_ milliseconds: Int64) -> Int64 {
        guard let month = monthMilliseconds else { return milliseconds }
        let day = CivilCalendar.millisecondsPerDay
        // Divided first where the product would be beyond 64 bits.
        return milliseconds / day * month / Self.daysOfMonth
            + milliseconds % day * month / (day * Self.daysOfMonth)
    }
}
