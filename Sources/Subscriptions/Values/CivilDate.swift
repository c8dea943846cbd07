/// A date of the proleptic Gregorian calendar, and the only calendar arithmetic of the program.
///
/// Without Foundation: a report formats a million times, and none may cost a `Calendar`.
package struct CivilDate: Hashable, Sendable {
    package var year: Int64
    /// 1 to 12.
    package var month: Int64
    /// 1 to 31.
    package var day: Int64

    /// `nil` for a date that does not exist, such as 30 February.
    package init?(year: Int64, month: Int64, day: Int64) {
        guard (1...12).contains(month), day >= 1,
            day <= Self.days(inMonth: month, year: year)
        else { return nil }
        self.year = year
        self.month = month
        self.day = day
    }

    /// The date that lies this many days after 1970-01-01 (before it when negative).
    ///
    /// Counted in eras of 400 years, which all have the same number of days, and in years that
    /// begin in March, so that a leap day is the last day of its year.
    package init(daysSince1970 days: Int64) {
        let (era, dayOfEra) = (days + Self.daysFromYear0To1970).floorDivided(by: Self.daysPerEra)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    }

    /// Days from 1970-01-01 to this date; negative before it.
    package var daysSince1970: Int64 {
        let (era, yearOfEra) = (month <= 2 ? year - 1 : year).floorDivided(by: 400)
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * Self.daysPerEra + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
            - Self.daysFromYear0To1970
    }

    private static let daysPerEra: Int64 = 146_097
    /// From 1 March of the year 0, where the first era begins.
    private static let daysFromYear0To1970: Int64 = 719_468

    private static func days(inMonth month: Int64, year: Int64) -> Int64 {
        switch month {
        case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension Int64 {
    /// Quotient rounded towards negative infinity, and the remainder, which is never negative.
    package func floorDivided(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

/// Lengths of time in milliseconds.
package enum Milliseconds {
    package static let perSecond: Int64 = 1000
    package static let perMinute: Int64 = 60 * perSecond
    package static let perHour: Int64 = 60 * perMinute
    package static let perDay: Int64 = 24 * perHour
}
