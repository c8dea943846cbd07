/// When the clocks of a zone change each year, as the POSIX variable `TZ` says it.
///
/// Source: RFC 9636, section 3.3.1; POSIX.1-2024, 8.3. Days are only known in the form `Mm.w.d`,
/// which the time zone database writes but for a few zones.
struct YearlyRule: Hashable, Sendable {
    /// Seconds east of UTC.
    var standard: Int64
    /// The same in summer; as `standard` where the clocks never change.
    var summer: Int64
    private var start: Day?
    private var end: Day?

    /// The given day of a week of a month, and the time of the clock that is changed.
    fileprivate struct Day: Hashable {
        var month: Int64
        /// From 1; 5 is the last one.
        var week: Int64
        /// 0 is Sunday.
        var weekday: Int64
        var seconds: Int64
    }

    /// - Parameter text: For example `CET-1CEST,M3.5.0,M10.5.0/3`.
    init?(posix text: String) {
        var reader = PosixReader(text)
        guard reader.name(), let west = reader.time(hoursUpTo: 24) else { return nil }
        standard = 0 &- west
        summer = 0 &- west
        guard !reader.isAtEnd else { return }
        guard reader.name() else { return nil }
        summer = standard &+ 3600
        if reader.next != UInt8(ascii: ",") {
            guard let west = reader.time(hoursUpTo: 24) else { return nil }
            summer = 0 &- west
        }
        guard let start = Self.day(&reader), let end = Self.day(&reader), reader.isAtEnd
        else { return nil }
        self.start = start
        self.end = end
    }

    func offset(at instant: Int64) -> Int64 {
        guard let start, let end else { return standard }
        let local = instant.addingReportingOverflow(standard)
        guard !local.overflow else { return standard }
        let day = local.partialValue.floorDivided(by: Self.secondsPerDay).quotient
        let year = CivilDate(daysSince1970: day).year
        // Years beyond these have no date that CivilDate could tell.
        guard (-9999...9999).contains(year) else { return standard }
        let begins = start.seconds(in: year) &- standard
        let ends = end.seconds(in: year) &- summer
        let isSummer =
            begins < ends
            ? begins <= instant && instant < ends : !(ends <= instant && instant < begins)
        return isSummer ? summer : standard
    }

    static let secondsPerDay: Int64 = 86_400

    /// `,Mm.w.d[/time]`.
    private static func day(_ reader: inout PosixReader) -> Day? {
        guard reader.skip(","), reader.skip("M"), let month = reader.number(upTo: 12), month >= 1,
            reader.skip("."), let week = reader.number(upTo: 5), week >= 1, reader.skip("."),
            let weekday = reader.number(upTo: 6)
        else { return nil }
        var day = Day(month: month, week: week, weekday: weekday, seconds: 7200)
        if reader.skip("/") {
            guard let time = reader.time(hoursUpTo: 167) else { return nil }
            day.seconds = time
        }
        return day
    }
}

extension YearlyRule.Day {
    /// Seconds since 1970 of the clock that is changed.
    fileprivate func seconds(in year: Int64) -> Int64 {
        let first = CivilDate(year: year, month: month, day: 1)?.daysSince1970 ?? 0
        // The first of January 1970 was a Thursday.
        let weekdayOfFirst = (first &+ 4).floorDivided(by: 7).remainder
        let ahead = (weekday &- weekdayOfFirst &+ 7) % 7
        var day = first &+ ahead &+ (week &- 1) &* 7
        if week == 5, CivilDate(daysSince1970: day).month != month { day &-= 7 }
        return day &* YearlyRule.secondsPerDay &+ seconds
    }
}

/// Reads the pieces of such a text, front to back.
private struct PosixReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    var isAtEnd: Bool { position == bytes.count }
    var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: scalar) else { return false }
        position &+= 1
        return true
    }

    /// Letters, or anything between angle brackets.
    mutating func name() -> Bool {
        if skip("<") {
            while let byte = next, byte != UInt8(ascii: ">") { position &+= 1 }
            return skip(">")
        }
        let start = position
        while let byte = next, (byte | 0x20) >= UInt8(ascii: "a"),
            (byte | 0x20) <= UInt8(ascii: "z")
        {
            position &+= 1
        }
        return position &- start >= 3
    }

    mutating func number(upTo limit: Int64) -> Int64? {
        var value: Int64?
        while let byte = next, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") {
            let grown = (value ?? 0) &* 10 &+ Int64(byte &- UInt8(ascii: "0"))
            guard grown <= limit else { return nil }
            value = grown
            position &+= 1
        }
        return value
    }

    /// `[+-]hh[:mm[:ss]]` in seconds.
    mutating func time(hoursUpTo limit: Int64) -> Int64? {
        let isNegative = skip("-")
        if !isNegative { _ = skip("+") }
        guard let hours = number(upTo: limit) else { return nil }
        var seconds = hours &* 3600
        if skip(":") {
            guard let minutes = number(upTo: 59) else { return nil }
            seconds &+= minutes &* 60
            if skip(":") {
                guard let rest = number(upTo: 59) else { return nil }
                seconds &+= rest
            }
        }
        return isNegative ? 0 &- seconds : seconds
    }
}
