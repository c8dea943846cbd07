/// The three parts of a compact JWS (RFC 7515, section 7.1) as text, of which nothing is verified.
///
/// For what was verified before it was kept, and for claims that decide nothing. Apple's answers
/// are read by `UnverifiedJWS` alone, and verified.
package struct JWSSegments {
    package let header: [UInt8]
    package let payload: [UInt8]
    package let signature: [UInt8]

    /// `nil` where there are not three parts, or the header is empty.
    package init?(_ text: [UInt8]) {
        let parts = text.split(
            separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty else { return nil }
        header = Array(parts[0])
        payload = Array(parts[1])
        signature = Array(parts[2])
    }

    /// The decoded payload of a text; `nil` where the text is not a compact JWS.
    package static func payload(of text: String) -> [UInt8]? {
        JWSSegments(Array(text.utf8)).flatMap { [UInt8](lenientBase64: $0.payload) }
    }
}

/// The value of each byte as a digit of Base64; 0xFF for what is none.
private let base64Values: [UInt8] = {
    var values = [UInt8](repeating: 0xFF, count: 256)
    let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    for (value, digit) in digits.utf8.enumerated() { values[Int(digit)] = UInt8(value) }
    values[Int(UInt8(ascii: "-"))] = 62
    values[Int(UInt8(ascii: "_"))] = 63
    return values
}()

extension [UInt8] {
    /// Decodes Base64 (RFC 4648) as it is found: in either alphabet, with or without padding.
    ///
    /// Several texts give the same bytes. `JSONWebSignature.Base64`, for signatures, accepts one text
    /// alone. `nil` for any other character, and for a length that none has.
    package init?(lenientBase64 text: [UInt8]) {
        var end = text.count
        while end > 0, text.count - end < 2, text[end - 1] == UInt8(ascii: "=") { end -= 1 }
        guard end % 4 != 1 else { return nil }
        let digits = text.span
        let values = base64Values.span
        var seen: UInt8 = 0
        let decoded = [UInt8](capacity: end * 3 / 4) { output in
            var previous: UInt8 = 0
            for index in 0..<end {
                let value = values[Int(digits[index])]
                seen |= value
                let shift = UInt8(2 * (index % 4))
                if shift > 0 { output.append(previous << shift | value >> (6 - shift)) }
                previous = value
            }
        }
        // A value has six bits; only the mark of an invalid character sets the others.
        guard seen < 64 else { return nil }
        self = decoded
    }
}
