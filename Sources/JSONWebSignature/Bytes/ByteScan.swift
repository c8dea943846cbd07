/// Searches and compares bytes eight at a time.
///
/// Byte-wise loops over the 5 KB of a JWS would cost up to a fifth of its signature check. These
/// loops are the only place of the module that reads memory without a bounds check.
enum ByteScan {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highBits: UInt64 = 0x8080_8080_8080_8080

    /// Index of the first byte from `start` that is a quote, a backslash, a control character or
    /// not ASCII; the count when there is none.
    static func endOfPlainText(in bytes: [UInt8], from start: Int) -> Int {
        let span = bytes.span
        let raw = unsafe span.bytes
        var index = start
        while index + 8 <= span.count {
            let word = unsafe load(raw, at: index)
            let special =
                zeroBytes(word ^ (ones &* 0x22)) | zeroBytes(word ^ (ones &* 0x5C))
                | ((word &- (ones &* 0x20)) & ~word & highBits) | (word & highBits)
            if special != 0 { return index + special.trailingZeroBitCount / 8 }
            index += 8
        }
        while index < span.count {
            let byte = span[index]
            if byte == 0x22 || byte == 0x5C || byte < 0x20 || byte >= 0x80 { return index }
            index += 1
        }
        return index
    }

    /// Offset from the start of the slice of the first `byte` at or after `offset`.
    static func firstOffset(
        of byte: UInt8, in bytes: ArraySlice<UInt8>, from offset: Int
    ) -> Int? {
        let span = bytes.span
        let raw = unsafe span.bytes
        let pattern = ones &* UInt64(byte)
        var index = offset
        while index + 8 <= span.count {
            let match = zeroBytes(unsafe load(raw, at: index) ^ pattern)
            if match != 0 { return index + match.trailingZeroBitCount / 8 }
            index += 8
        }
        while index < span.count {
            if span[index] == byte { return index }
            index += 1
        }
        return nil
    }

    static func areEqual(_ left: ArraySlice<UInt8>, _ right: [UInt8]) -> Bool {
        let left = left.span
        let right = right.span
        guard left.count == right.count else { return false }
        let leftRaw = unsafe left.bytes
        let rightRaw = unsafe right.bytes
        var index = 0
        while index + 8 <= left.count {
            if unsafe load(leftRaw, at: index) != load(rightRaw, at: index) { return false }
            index += 8
        }
        while index < left.count {
            if left[index] != right[index] { return false }
            index += 1
        }
        return true
    }

    /// The high bit of each byte that is zero; exact for the lowest such byte.
    private static func zeroBytes(_ word: UInt64) -> UInt64 {
        (word &- ones) & ~word & highBits
    }

    /// Callers have checked that eight bytes follow `offset`.
    @unsafe private static func load(_ raw: borrowing RawSpan, at offset: Int) -> UInt64 {
        let word = unsafe raw.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
        return UInt64(littleEndian: word)
    }
}
