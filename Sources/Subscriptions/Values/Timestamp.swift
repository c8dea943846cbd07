/// A moment in whole UNIX milliseconds, as Apple states every time.
package struct Timestamp: Hashable, Comparable, Sendable {
    package let unixMilliseconds: Int64

    package init(unixMilliseconds: Int64) {
        self.unixMilliseconds = unixMilliseconds
    }

    package static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.unixMilliseconds < right.unixMilliseconds
    }

    /// The moment this many milliseconds later (earlier when negative), clamped to `Int64`.
    package func adding(milliseconds: Int64) -> Timestamp {
        Timestamp(unixMilliseconds: unixMilliseconds.addingClamped(milliseconds))
    }

    /// Milliseconds from `earlier` to this moment, clamped to `Int64`.
    package func milliseconds(since earlier: Timestamp) -> Int64 {
        let (difference, overflow) = unixMilliseconds.subtractingReportingOverflow(
            earlier.unixMilliseconds)
        guard overflow else { return difference }
        return unixMilliseconds > 0 ? .max : .min
    }

    /// Whether it lies more than a day after `now`, so that nothing can have been signed then.
    ///
    /// A day allows for clocks that are wrong and for times that were stored in another zone.
    package func isAhead(of now: Timestamp) -> Bool {
        self > now.adding(milliseconds: Milliseconds.perDay)
    }

    /// The beginning of its UTC day, or of the one that is so many days later.
    ///
    /// What is due every so many days is due from the beginning of a day: a job that begins some minutes
    /// earlier than the last time finds it as well.
    package func startOfDay(addingDays days: Int64 = 0) -> Timestamp {
        let (_, time) = unixMilliseconds.floorDivided(by: Milliseconds.perDay)
        return adding(milliseconds: -time).adding(milliseconds: days &* Milliseconds.perDay)
    }

    /// The UTC day as `yyyy-MM-dd`.
    package var utcDay: String { String(rfc3339.prefix(10)) }
}

/// Stored as UNIX milliseconds.
extension Timestamp: Codable {
    package init(from decoder: any Decoder) throws {
        self.init(unixMilliseconds: try decoder.singleValueContainer().decode(Int64.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(unixMilliseconds)
    }
}

/// RFC 3339 in UTC with milliseconds: the form of times in every file that we write.
extension Timestamp {
    /// For example `2026-11-20T03:17:04.000Z`.
    ///
    /// RFC 3339 has no form for years outside 0000–9999. They are written in the expanded form of
    /// ISO 8601 (`+10000-…`), because a broken local value must be printable too.
    package var rfc3339: String {
        let (day, time) = unixMilliseconds.floorDivided(by: Milliseconds.perDay)
        let date = CivilDate(daysSince1970: day)
        let seconds = time / Milliseconds.perSecond
        // A report writes millions of them: one text, not one for each part.
        var bytes: [UInt8] = []
        bytes.reserveCapacity(24)
        Self.append(year: date.year, to: &bytes)
        Self.append("-", date.month, digits: 2, to: &bytes)
        Self.append("-", date.day, digits: 2, to: &bytes)
        Self.append("T", seconds / 3600, digits: 2, to: &bytes)
        Self.append(":", seconds / 60 % 60, digits: 2, to: &bytes)
        Self.append(":", seconds % 60, digits: 2, to: &bytes)
        Self.append(".", time % 1000, digits: 3, to: &bytes)
        bytes.append(UInt8(ascii: "Z"))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads RFC 3339 (any offset, zero to nine fractional digits, cut to milliseconds).
    ///
    /// `nil` for anything else, and for dates that do not exist. A leap second (`:60`) is read as
    /// the first second of the next minute.
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
        guard let date = CivilDate(year: year, month: month, day: day), hour <= 23, minute <= 59,
            second <= 60
        else { return nil }
        let minutes = date.daysSince1970 * 1440 + hour * 60 + minute - offset
        return minutes * Milliseconds.perMinute + second * Milliseconds.perSecond + fraction
    }

    private static func append(year: Int64, to bytes: inout [UInt8]) {
        guard (0...9999).contains(year) else {
            let digits = String(year.magnitude)
            bytes.append(year < 0 ? UInt8(ascii: "-") : UInt8(ascii: "+"))
            bytes += repeatElement(UInt8(ascii: "0"), count: max(0, 6 - digits.utf8.count))
            bytes += digits.utf8
            return
        }
        append(year, digits: 4, to: &bytes)
    }

    private static func append(
        _ separator: Unicode.Scalar, _ value: Int64, digits: Int, to bytes: inout [UInt8]
    ) {
        bytes.append(UInt8(ascii: separator))
        append(value, digits: digits, to: &bytes)
    }

    /// Appends so many digits, two to four, of a number that has no more and is not negative.
    private static func append(_ value: Int64, digits: Int, to bytes: inout [UInt8]) {
        let zero = UInt8(ascii: "0")
        if digits > 3 { bytes.append(zero + UInt8(truncatingIfNeeded: value / 1000 % 10)) }
        if digits > 2 { bytes.append(zero + UInt8(truncatingIfNeeded: value / 100 % 10)) }
        bytes.append(zero + UInt8(truncatingIfNeeded: value / 10 % 10))
        bytes.append(zero + UInt8(truncatingIfNeeded: value % 10))
    }
}

/// Reads the pieces of an RFC 3339 time from bytes, front to back.
@safe private struct RFC3339Reader {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0

    init(bytes: UnsafeBufferPointer<UInt8>) {
        unsafe self.bytes = bytes
    }

    var isAtEnd: Bool { unsafe position == bytes.count }

    private var next: UInt8? { unsafe position < bytes.count ? bytes[position] : nil }

    mutating func skip(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    private mutating func digit() -> Int64? {
        guard let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else {
            return nil
        }
        position += 1
        return Int64(byte - UInt8(ascii: "0"))
    }

    mutating func number(digits count: Int) -> Int64? {
        var value: Int64 = 0
        for _ in 0..<count {
            guard let digit = digit() else { return nil }
            value = value * 10 + digit
        }
        return value
    }

    /// Milliseconds of an optional fraction; `nil` when a point has no digits or more than nine.
    mutating func fractionMilliseconds() -> Int64? {
        guard skip(UInt8(ascii: ".")) else { return 0 }
        var milliseconds: Int64 = 0
        var count = 0
        while let digit = digit() {
            count += 1
            if count <= 3 { milliseconds = milliseconds * 10 + digit }
        }
        guard (1...9).contains(count) else { return nil }
        for _ in 0..<max(0, 3 - count) { milliseconds *= 10 }
        return milliseconds
    }

    /// Minutes east of UTC; a time without an offset is ambiguous and is refused.
    mutating func offsetMinutes() -> Int64? {
        if skip(UInt8(ascii: "Z")) || skip(UInt8(ascii: "z")) { return 0 }
        let isEast = skip(UInt8(ascii: "+"))
        guard isEast || skip(UInt8(ascii: "-")), let hours = number(digits: 2),
            skip(UInt8(ascii: ":")),
            let minutes = number(digits: 2), hours <= 23, minutes <= 59
        else { return nil }
        return (isEast ? 1 : -1) * (hours * 60 + minutes)
    }
}

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

extension FixedWidthInteger {
    /// The sum, or the nearest number that can be held: absurd numbers must not end a run.
    func addingClamped(_ other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other > 0 ? .max : .min) : sum
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
