/// The escapes of a JSON text (RFC 8259, section 7).
enum JSONEscapes {
    static func decoded(_ content: ArraySlice<UInt8>) throws(BadField) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(content.count)
        var index = content.startIndex
        while index < content.endIndex {
            let byte = content[index]
            index += 1
            guard byte == UInt8(ascii: "\\") else {
                result.append(byte)
                continue
            }
            guard index < content.endIndex else { throw unknown }
            let escape = content[index]
            index += 1
            if escape == UInt8(ascii: "u") {
                result.append(contentsOf: try scalar(content, &index).utf8)
            } else {
                result.append(try simple(escape))
            }
        }
        return result
    }

    private static var unknown: BadField { BadField("is not JSON: an unknown escape in a text") }

    private static func simple(_ escape: UInt8) throws(BadField) -> UInt8 {
        switch escape {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return escape
        case UInt8(ascii: "b"): return 0x08
        case UInt8(ascii: "f"): return 0x0C
        case UInt8(ascii: "n"): return 0x0A
        case UInt8(ascii: "r"): return 0x0D
        case UInt8(ascii: "t"): return 0x09
        default: throw unknown
        }
    }

    /// The character of `\uXXXX`, or of two that make a surrogate pair.
    private static func scalar(
        _ content: ArraySlice<UInt8>, _ index: inout Int
    ) throws(BadField) -> Character {
        let first = try hexadecimal(content, &index)
        if let scalar = Unicode.Scalar(first) { return Character(scalar) }
        let half = BadField("is not JSON: half a surrogate pair in a text")
        guard (0xD800...0xDBFF).contains(first), content[index...].starts(with: "\\u".utf8) else {
            throw half
        }
        index += 2
        let second = try hexadecimal(content, &index)
        guard (0xDC00...0xDFFF).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
        else { throw half }
        return Character(scalar)
    }

    private static func hexadecimal(
        _ content: ArraySlice<UInt8>, _ index: inout Int
    ) throws(BadField) -> UInt32 {
        guard content.endIndex - index >= 4 else { throw unknown }
        var value: UInt32 = 0
        for byte in content[index..<index + 4] {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { throw unknown }
            value = value << 4 | UInt32(digit)
        }
        index += 4
        return value
    }
}
