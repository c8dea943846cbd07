/// The escapes of JSON texts (RFC 8259, section 7).
enum JSONEscape {
    /// Where the escape that begins with the backslash at `position` ends.
    ///
    /// A surrogate must be part of a pair; a lone one has no UTF-8 form.
    static func end(of position: Int, in bytes: [UInt8]) throws(JSONWebSignatureError) -> Int {
        guard position + 1 < bytes.count else { throw fault(position) }
        guard bytes[position + 1] == UInt8(ascii: "u") else {
            guard simple(bytes[position + 1]) != nil else { throw fault(position) }
            return position + 2
        }
        guard let unit = unit(at: position, in: bytes) else { throw fault(position) }
        switch unit {
        case 0xDC00...0xDFFF: throw fault(position)
        case 0xD800...0xDBFF:
            guard let low = self.unit(at: position + 6, in: bytes), (0xDC00...0xDFFF).contains(low)
            else { throw fault(position) }
            return position + 12
        default: return position + 6
        }
    }

    /// The UTF-8 of a text that the scanner has accepted.
    static func unescaped(_ text: ArraySlice<UInt8>, in bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(text.count)
        var position = text.startIndex
        while position < text.endIndex {
            guard bytes[position] == UInt8(ascii: "\\"), position + 1 < bytes.count else {
                output.append(bytes[position])
                position += 1
                continue
            }
            if let byte = simple(bytes[position + 1]) {
                output.append(byte)
                position += 2
                continue
            }
            guard let high = unit(at: position, in: bytes) else { return output }
            position += 6
            var scalar = UInt32(high)
            if (0xD800...0xDBFF).contains(high), let low = unit(at: position, in: bytes) {
                scalar = 0x10000 + (UInt32(high - 0xD800) << 10 | UInt32(low &- 0xDC00))
                position += 6
            }
            output.append(contentsOf: Unicode.Scalar(scalar).map { Array(String($0).utf8) } ?? [])
        }
        return output
    }

    private static func simple(_ letter: UInt8) -> UInt8? {
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): letter
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: nil
        }
    }

    /// The UTF-16 unit of the `\uXXXX` at `position`.
    private static func unit(at position: Int, in bytes: [UInt8]) -> UInt16? {
        guard position + 6 <= bytes.count, bytes[position] == UInt8(ascii: "\\"),
            bytes[position + 1] == UInt8(ascii: "u")
        else { return nil }
        var unit: UInt16 = 0
        for byte in bytes[position + 2..<position + 6] {
            guard let digit = hexadecimalValue(byte) else { return nil }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }

    private static func hexadecimalValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    private static func fault(_ position: Int) -> JSONWebSignatureError {
        JSONWebSignatureError(.format, "the JSON text has a broken escape (byte \(position))")
    }
}
