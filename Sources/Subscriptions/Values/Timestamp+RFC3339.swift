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
