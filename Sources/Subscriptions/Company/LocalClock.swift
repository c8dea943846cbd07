/// The clock by which a column without an offset is written: of UTC, of a fixed offset, or of a
/// zone whose clocks change.
///
/// In such a zone an hour of the year is skipped and another one comes twice. Times in these are
/// never guessed: the first are not times, and the second are neither read nor written.
package struct LocalClock: Hashable, Sendable, CustomStringConvertible {
    /// As the settings name it; what two runs are compared by.
    package let description: String
    /// Seconds east of UTC before the first change.
    let first: Int64
    /// The changes in order, by seconds since 1970.
    let changes: [(at: Int64, offset: Int64)]
    /// The rule after the last of them; `nil` where that one stays.
    let yearly: YearlyRule?
    /// Every offset that ever holds.
    private let offsets: [Int64]

    init(
        _ description: String, first: Int64, changes: [(at: Int64, offset: Int64)],
        yearly: YearlyRule?
    ) {
        self.description = description
        self.first = first
        self.changes = changes
        self.yearly = yearly
        let rule = yearly.map { [$0.standard, $0.summer] } ?? []
        offsets = Set([first] + changes.map(\.offset) + rule).sorted()
    }

    /// A clock that never changes.
    package init(minutesEast: Int) {
        self.init(
            String(minutesEast), first: Int64(minutesEast) &* 60, changes: [], yearly: nil)
    }

    package static func == (left: LocalClock, right: LocalClock) -> Bool {
        left.description == right.description && left.first == right.first
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(description) }

    /// The instant that a local time means; `nil` where it means none, or two.
    ///
    /// - Parameter local: What the clock shows, as if it were UTC.
    /// - Returns: The instant.
    package func instant(ofLocal local: Timestamp) -> Timestamp? {
        let (seconds, rest) = local.unixMilliseconds.floorDivided(by: Milliseconds.perSecond)
        var found: Int64?
        for offset in offsets {
            let (instant, overflow) = seconds.subtractingReportingOverflow(offset)
            guard !overflow, self.offset(at: instant) == offset else { continue }
            guard found == nil else { return nil }
            found = instant
        }
        return found.flatMap { Self.time(seconds: $0, rest) }
    }

    /// Returns the time that the clock shows at an instant, as if that were UTC; `nil` where the
    /// same is shown twice.
    ///
    /// - Parameter instant: The time.
    /// - Returns: The local time, which reads back as this instant.
    package func local(at instant: Timestamp) -> Timestamp? {
        let (seconds, rest) = instant.unixMilliseconds.floorDivided(by: Milliseconds.perSecond)
        let (local, overflow) = seconds.addingReportingOverflow(offset(at: seconds))
        guard !overflow, let shown = Self.time(seconds: local, rest),
            self.instant(ofLocal: shown) == instant
        else { return nil }
        return shown
    }

    private static func time(seconds: Int64, _ milliseconds: Int64) -> Timestamp? {
        let (product, overflow) = seconds.multipliedReportingOverflow(by: Milliseconds.perSecond)
        let (sum, isTooFar) = product.addingReportingOverflow(milliseconds)
        return overflow || isTooFar ? nil : Timestamp(unixMilliseconds: sum)
    }

    /// Seconds east of UTC at an instant.
    private func offset(at seconds: Int64) -> Int64 {
        guard let last = changes.last else { return yearly?.offset(at: seconds) ?? first }
        guard seconds < last.at else { return yearly?.offset(at: seconds) ?? last.offset }
        var (low, high) = (0, changes.count)
        while low < high {
            let middle = (low &+ high) / 2
            if changes[middle].at <= seconds { low = middle &+ 1 } else { high = middle }
        }
        return low == 0 ? first : changes[low &- 1].offset
    }
}

/// Zones as the time zone database of a machine has them.
///
/// Source: RFC 9636. Only what every machine has now is read: version 2 and later, without leap
/// seconds.
extension LocalClock {
    /// - Parameters:
    ///   - name: For example `Europe/Berlin`.
    ///   - bytes: The file of that zone.
    package init?(zone name: String, tzif bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        // The first block has times of 32 bits, for programs of long ago.
        guard let old = reader.header(), old.version >= UInt8(ascii: "2"),
            reader.skip(old.length(ofTime: 4)), let block = reader.header(), block.leaps == 0,
            block.types > 0
        else { return nil }
        var times: [Int64] = []
        for _ in 0..<block.times {
            guard let time = reader.integer(bytes: 8) else { return nil }
            times.append(time)
        }
        var indexes: [Int] = []
        for _ in 0..<block.times {
            guard let index = reader.byte(), Int(index) < block.types else { return nil }
            indexes.append(Int(index))
        }
        var offsets: [Int64] = []
        for _ in 0..<block.types {
            // An offset; then whether it is summer, and the place of its name.
            guard let offset = reader.integer(bytes: 4), reader.skip(2),
                (-100_000...100_000).contains(offset)
            else { return nil }
            offsets.append(offset)
        }
        guard reader.skip(block.characters &+ block.standards &+ block.universals),
            let footer = reader.footer(), zip(times, times.dropFirst()).allSatisfy({ $0 < $1 })
        else { return nil }
        var yearly: YearlyRule?
        if !footer.isEmpty {
            guard let rule = YearlyRule(posix: footer) else { return nil }
            yearly = rule
        }
        self.init(
            name, first: offsets[0],
            changes: zip(times, indexes).map { (at: $0, offset: offsets[$1]) },
            yearly: yearly)
    }
}

/// Reads bytes, front to back.
private struct ByteReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

    var isAtEnd: Bool { position == bytes.count }
    var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    mutating func byte() -> UInt8? {
        guard let next else { return nil }
        position &+= 1
        return next
    }

    mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: scalar) else { return false }
        position &+= 1
        return true
    }

    mutating func skip(_ count: Int) -> Bool {
        guard count >= 0, count <= bytes.count &- position else { return false }
        position &+= count
        return true
    }
}

/// The pieces of the file of a zone.
extension ByteReader {
    /// How much of what a block holds.
    struct Header {
        var version: UInt8
        var universals, standards, leaps, times, types, characters: Int

        func length(ofTime size: Int) -> Int {
            times &* (size &+ 1) &+ types &* 6 &+ characters &+ leaps &* (size &+ 4) &+ standards
                &+ universals
        }
    }

    /// Of so many bytes, the sign in the first, the greatest first.
    mutating func integer(bytes count: Int) -> Int64? {
        var value: Int64?
        for _ in 0..<count {
            guard let byte = byte() else { return nil }
            value = value.map { $0 << 8 | Int64(byte) } ?? Int64(Int8(bitPattern: byte))
        }
        return value
    }

    mutating func header() -> Header? {
        for expected in "TZif".utf8 where byte() != expected { return nil }
        guard let version = byte(), skip(15) else { return nil }
        var counts: [Int] = []
        for _ in 0..<6 {
            // No zone has a hundredth of it.
            guard let count = integer(bytes: 4), (0...100_000).contains(count) else { return nil }
            counts.append(Int(count))
        }
        return Header(
            version: version, universals: counts[0], standards: counts[1], leaps: counts[2],
            times: counts[3], types: counts[4], characters: counts[5])
    }

    /// The rule after the last change, between two line feeds at the end.
    mutating func footer() -> String? {
        guard skip("\n") else { return nil }
        var line: [UInt8] = []
        while let byte = byte() {
            guard byte != UInt8(ascii: "\n") else { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
        return nil
    }
}

/// When the clocks of a zone change each year, as the POSIX variable `TZ` says it.
///
/// Source: RFC 9636, section 3.3.1; POSIX.1-2024, 8.3. Days are only known in the form `Mm.w.d`,
/// which the time zone database writes except for a few zones.
struct YearlyRule: Sendable {
    /// Seconds east of UTC.
    var standard: Int64
    /// The offset in summer; as `standard` where the clocks never change.
    var summer: Int64
    private var start: Day?
    private var end: Day?

    /// The given day of a week of a month, and the time of the clock that is changed.
    fileprivate struct Day {
        var month: Int64
        /// From 1; 5 is the last one.
        var week: Int64
        /// 0 is Sunday.
        var weekday: Int64
        var seconds: Int64
    }

    /// - Parameter text: For example `CET-1CEST,M3.5.0,M10.5.0/3`.
    init?(posix text: String) {
        var reader = ByteReader(text.utf8)
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
    private static func day(_ reader: inout ByteReader) -> Day? {
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

/// The pieces of such a text.
extension ByteReader {
    /// Letters, or anything between angle brackets.
    fileprivate mutating func name() -> Bool {
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

    fileprivate mutating func number(upTo limit: Int64) -> Int64? {
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
    fileprivate mutating func time(hoursUpTo limit: Int64) -> Int64? {
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
