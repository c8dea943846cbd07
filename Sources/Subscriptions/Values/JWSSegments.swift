/// The three parts of a compact JWS (RFC 7515, section 7.1) as text, of which nothing is verified.
///
/// For what was verified before it was kept, and for claims that nobody believes. What Apple
/// answers is read by `UnverifiedJWS` alone.
package struct JWSSegments {
    package let header: [UInt8]
    package let payload: [UInt8]
    package let signature: [UInt8]

    /// `nil` where there are not three parts, or the header is empty.
    package init?(_ text: [UInt8]) {
        let dot = UInt8(ascii: ".")
        guard let first = text.firstIndex(of: dot), first > 0,
            let last = text.lastIndex(of: dot), first < last,
            !text[(first + 1)..<last].contains(dot)
        else { return nil }
        header = Array(text[..<first])
        payload = Array(text[(first + 1)..<last])
        signature = Array(text[(last + 1)...])
    }

    /// The decoded payload of a text; `nil` where it is no compact JWS.
    package static func payload(of text: String) -> [UInt8]? {
        JWSSegments(Array(text.utf8)).flatMap { LenientBase64.decode($0.payload) }
    }
}

/// Base64 (RFC 4648) as it is found: in either alphabet, with or without padding.
///
/// For bytes that are compared or believed in another way. Where a text must not have a second
/// form, `JSONWebSignature.Base64` is strict.
package enum LenientBase64 {
    /// `nil` for any other character, and for a length that none has.
    package static func decode(_ text: [UInt8]) -> [UInt8]? {
        var end = text.count
        while end > 0, text.count - end < 2, text[end - 1] == UInt8(ascii: "=") { end -= 1 }
        guard end % 4 != 1 else { return nil }
        var output: [UInt8] = []
        output.reserveCapacity(end / 4 * 3 + 2)
        var read: UInt32 = 0
        var bits = 0
        for digit in text[..<end] {
            guard let value = value(of: digit) else { return nil }
            read = (read & 0xFF) << 6 | UInt32(value)
            bits += 6
            guard bits >= 8 else { continue }
            bits -= 8
            output.append(UInt8(truncatingIfNeeded: read >> UInt32(bits)))
        }
        return output
    }

    private static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
