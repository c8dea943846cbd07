/// Reads the pieces of an RFC 3339 time from bytes, front to back.
@safe struct RFC3339Reader {
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
