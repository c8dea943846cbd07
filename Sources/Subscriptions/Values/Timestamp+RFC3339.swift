/// RFC 3339 in UTC with milliseconds, without Foundation: this is the form of every file that we
/// write, and formatting it a million times must not cost a calendar each time.
extension Timestamp {
    private static let millisecondsPerDay: Int64 = 86_400_000

    /// For example `2026-11-20T03:17:04.000Z`.
    ///
    /// Years outside 0000–9999 are written in the expanded form of ISO 8601 (`+10000-…`), which
    /// RFC 3339 has no form for; a broken local value must still be printable.
    package var rfc3339: String {
        let (day, time) = Self.floorDivide(unixMilliseconds, by: Self.millisecondsPerDay)
        let (year, month, dayOfMonth) = Self.civil(fromDays: day)
        let seconds = time / 1000
        return Self.padded(year: year) + "-" + Self.padded(month, to: 2) + "-"
            + Self.padded(dayOfMonth, to: 2) + "T" + Self.padded(seconds / 3600, to: 2) + ":"
            + Self.padded(seconds / 60 % 60, to: 2) + ":" + Self.padded(seconds % 60, to: 2) + "."
            + Self.padded(time % 1000, to: 3) + "Z"
    }

    /// Reads RFC 3339 (any offset, zero to nine fractional digits, cut to milliseconds).
    ///
    /// `nil` for anything else, dates that do not exist included. A leap second (`:60`) is read
    /// as the first second of the next minute.
    package init?(rfc3339 text: some StringProtocol) {
        var text = String(text)
        guard let parsed = text.withUTF8({ unsafe Self.parse($0) }) else { return nil }
        self.init(unixMilliseconds: parsed)
    }

    /// Reads the same form from UTF-8 bytes.
    package init?(rfc3339 bytes: UnsafeBufferPointer<UInt8>) {
        guard let parsed = unsafe Self.parse(bytes) else { return nil }
        self.init(unixMilliseconds: parsed)
    }

    private static func parse(_ bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
        var reader = unsafe RFC3339Reader(bytes: bytes)
        guard let year = reader.number(digits: 4), reader.skip(UInt8(ascii: "-")),
            let month = reader.number(digits: 2), reader.skip(UInt8(ascii: "-")),
            let day = reader.number(digits: 2),
            reader.skip(UInt8(ascii: "T")) || reader.skip(UInt8(ascii: "t"))
                || reader.skip(UInt8(ascii: " ")),
            let hour = reader.number(digits: 2), reader.skip(UInt8(ascii: ":")),
            let minute = reader.number(digits: 2), reader.skip(UInt8(ascii: ":")),
            let second = reader.number(digits: 2),
            let fraction = reader.fractionMilliseconds(),
            let offset = reader.offsetMinutes(), reader.isAtEnd
        else { return nil }
        guard (1...12).contains(month), day >= 1, day <= daysIn(month: month, year: year),
            hour <= 23, minute <= 59, second <= 60
        else { return nil }
        let days = daysSinceEpoch(year: year, month: month, day: day)
        let minutes = days * 1440 + hour * 60 + minute - offset
        return minutes * 60_000 + second * 1000 + fraction
    }

    private static func daysIn(month: Int64, year: Int64) -> Int64 {
        switch month {
        case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days from 1970-01-01 in the proleptic Gregorian calendar (eras of 400 years from March).
    private static func daysSinceEpoch(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = floorDivide(shifted, by: 400)
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
            - 719_468
    }

    private static func civil(fromDays days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = floorDivide(days + 719_468, by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }

    private static func floorDivide(_ value: Int64, by divisor: Int64) -> (Int64, Int64) {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    private static func padded(year: Int64) -> String {
        (0...9999).contains(year)
            ? padded(year, to: 4) : (year < 0 ? "-" : "+") + padded(year.magnitude, to: 6)
    }

    private static func padded(_ value: some BinaryInteger, to width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
