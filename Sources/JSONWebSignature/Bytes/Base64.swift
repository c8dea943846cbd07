/// Strict base64 of RFC 4648 over bytes, in both alphabets.
///
/// Refused are other characters (also white space and line breaks), unexpected or missing padding,
/// an impossible length, and unused bits that are not zero. So every value has exactly one text,
/// and a JWS cannot be changed without changing its bytes.
package enum Base64 {
    private static let invalid: UInt8 = 0xFF
    private static let urlValues = values(plus: UInt8(ascii: "-"), slash: UInt8(ascii: "_"))
    private static let standardValues = values(plus: UInt8(ascii: "+"), slash: UInt8(ascii: "/"))
    private static let urlAlphabet = alphabet(plus: UInt8(ascii: "-"), slash: UInt8(ascii: "_"))
    private static let standardAlphabet = alphabet(
        plus: UInt8(ascii: "+"), slash: UInt8(ascii: "/"))

    /// Base64url without padding, as in the segments of a JWS; `nil` when the text is not that.
    package static func decodeURL(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        decode(text, values: urlValues)
    }

    /// Base64 with padding, as in the entries of `x5c`; `nil` when the text is not that.
    package static func decodeStandard(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        let padding = UInt8(ascii: "=")
        var unpadded = text
        if unpadded.last == padding { unpadded.removeLast() }
        if unpadded.count % 4 == 3, unpadded.last == padding { unpadded.removeLast() }
        return decode(unpadded, values: standardValues)
    }

    /// Base64url without padding.
    package static func encodeURL(_ bytes: [UInt8]) -> String {
        encode(bytes, alphabet: urlAlphabet, padded: false)
    }

    /// Base64 with padding.
    package static func encodeStandard(_ bytes: [UInt8]) -> String {
        encode(bytes, alphabet: standardAlphabet, padded: true)
    }

    private static func decode(_ text: ArraySlice<UInt8>, values: [UInt8]) -> [UInt8]? {
        let span = text.span
        let values = values.span
        let rest = span.count % 4
        guard rest != 1 else { return nil }
        let whole = span.count - rest
        var seen: UInt8 = 0
        var output: [UInt8] = []
        output.reserveCapacity(span.count / 4 * 3 + 2)
        var index = 0
        while index < whole {
            let first = values[Int(span[index])]
            let second = values[Int(span[index + 1])]
            let third = values[Int(span[index + 2])]
            let fourth = values[Int(span[index + 3])]
            seen |= first | second | third | fourth
            output.append(first << 2 | second >> 4)
            output.append(second << 4 | third >> 2)
            output.append(third << 6 | fourth)
            index += 4
        }
        if rest > 0 {
            let first = values[Int(span[index])]
            let second = values[Int(span[index + 1])]
            let third = rest == 3 ? values[Int(span[index + 2])] : 0
            seen |= first | second | third
            let unusedBits = rest == 3 ? third & 0b11 : second & 0b1111
            guard unusedBits == 0 else { return nil }
            output.append(first << 2 | second >> 4)
            if rest == 3 { output.append(second << 4 | third >> 2) }
        }
        // A value has six bits; only the mark of an invalid character sets the others.
        return seen < 64 ? output : nil
    }

    private static func encode(_ bytes: [UInt8], alphabet: [UInt8], padded: Bool) -> String {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count / 3 * 4 + 4)
        var index = 0
        while index < bytes.count {
            let available = min(3, bytes.count - index)
            let first = bytes[index]
            let second = available > 1 ? bytes[index + 1] : 0
            let third = available > 2 ? bytes[index + 2] : 0
            output.append(alphabet[Int(first >> 2)])
            output.append(alphabet[Int((first & 0b11) << 4 | second >> 4)])
            if available > 1 {
                output.append(alphabet[Int((second & 0b1111) << 2 | third >> 6)])
            }
            if available > 2 { output.append(alphabet[Int(third & 0b11_1111)]) }
            if padded {
                for _ in available..<3 { output.append(UInt8(ascii: "=")) }
            }
            index += 3
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func alphabet(plus: UInt8, slash: UInt8) -> [UInt8] {
        Array(UInt8(ascii: "A")...UInt8(ascii: "Z")) + Array(UInt8(ascii: "a")...UInt8(ascii: "z"))
            + Array(UInt8(ascii: "0")...UInt8(ascii: "9")) + [plus, slash]
    }

    private static func values(plus: UInt8, slash: UInt8) -> [UInt8] {
        var values = [UInt8](repeating: invalid, count: 256)
        for (value, character) in alphabet(plus: plus, slash: slash).enumerated() {
            values[Int(character)] = UInt8(value)
        }
        return values
    }
}

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
