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
