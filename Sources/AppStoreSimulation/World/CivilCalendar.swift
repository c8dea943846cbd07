import Subscriptions

/// The proleptic Gregorian calendar in UTC.
///
/// Deliberately not the arithmetic of `Subscriptions`: shared code would repeat an error of the
/// program in the App Store that tests it.
enum CivilCalendar {
    static let millisecondsPerDay: Int64 = 86_400_000
    static let millisecondsPerHour: Int64 = 3_600_000

    /// The same day of a later month, or that month's last day.
    static func adding(months: Int, to start: Timestamp) -> Timestamp {
        let day = start.unixMilliseconds.quotientRoundedDown(by: millisecondsPerDay)
        let time = start.unixMilliseconds - day * millisecondsPerDay
        var (year, month, dayOfMonth) = date(fromDays: day)
        let monthIndex = year * 12 + (month - 1) + Int64(months)
        year = monthIndex.quotientRoundedDown(by: 12)
        month = monthIndex - year * 12 + 1
        dayOfMonth = min(dayOfMonth, daysIn(month: month, year: year))
        let shifted = days(year: year, month: month, day: dayOfMonth)
        return Timestamp(unixMilliseconds: shifted * millisecondsPerDay + time)
    }

    private static func daysIn(month: Int64, year: Int64) -> Int64 {
        switch month {
        case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted.quotientRoundedDown(by: 400)
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
            - 719_468
    }

    /// The date of a number of days since 1970-01-01.
    static func date(fromDays days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let era = (days + 719_468).quotientRoundedDown(by: 146_097)
        let dayOfEra = days + 719_468 - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }
}

extension Int64 {
    /// Division that rounds towards negative infinity.
    fileprivate func quotientRoundedDown(by divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
