/// A JSON value with one spelling: keys sorted by their UTF-8 bytes, no white space, integers only.
///
/// Ledger hashes, JSON Lines files and `--json` output are all made from it, so equal values give
/// equal bytes. There is no floating point on purpose: money is in milliunits, times are text.
/// Shares and ratios are written as text or as scaled integers.
package enum CanonicalJSON: Hashable, Sendable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case string(String)
    case array([CanonicalJSON])
    case object([String: CanonicalJSON])

    /// `null` for an absent text.
    package static func text(_ value: String?) -> CanonicalJSON { value.map(string) ?? .null }

    /// RFC 3339 text, or `null`.
    package static func time(_ value: Timestamp?) -> CanonicalJSON { text(value?.rfc3339) }

    /// The bytes as text, without a line feed at the end.
    package var rendered: String {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends the bytes, without a line feed at the end.
    package func append(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes += "null".utf8
        case .boolean(let value): bytes += (value ? "true" : "false").utf8
        case .integer(let value): bytes += String(value).utf8
        case .string(let value): Self.append(quoted: value, to: &bytes)
        case .array(let values):
            bytes.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                value.append(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            let sorted = members.sorted { $0.key.precedesByBytes($1.key) }
            for (index, member) in sorted.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                Self.append(quoted: member.key, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.append(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    /// Appends a text in quotes.
    ///
    /// RFC 8259 escapes only what must be escaped; U+2028 and U+2029 too, for readers in browsers.
    package static func append(quoted text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        if isPlain(text) {
            bytes += text.utf8
        } else {
            for scalar in text.unicodeScalars { append(escaped: scalar, to: &bytes) }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Whether nothing in a text could have to be escaped, by a quick look at its bytes.
    ///
    /// 0xE2 is the first byte of U+2028 and U+2029, and of much else. Every byte is checked, so
    /// that many are at once.
    private static func isPlain(_ text: String) -> Bool {
        unsafe text.utf8.withContiguousStorageIfAvailable { unsafe isPlain($0) } ?? false
    }

    private static func isPlain(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var special: UInt8 = 0
        for index in 0..<bytes.count {
            let byte = unsafe bytes[index]
            special |= byte < 0x20 ? 1 : 0
            special |= byte == 0x22 ? 1 : 0
            special |= byte == 0x5C ? 1 : 0
            special |= byte == 0x7F ? 1 : 0
            special |= byte == 0xE2 ? 1 : 0
        }
        return special == 0
    }

    private static func append(escaped scalar: Unicode.Scalar, to bytes: inout [UInt8]) {
        switch scalar {
        case "\"": bytes += "\\\"".utf8
        case "\\": bytes += "\\\\".utf8
        case "\n": bytes += "\\n".utf8
        case "\r": bytes += "\\r".utf8
        case "\t": bytes += "\\t".utf8
        case "\u{0}"..."\u{1F}", "\u{7F}", "\u{2028}", "\u{2029}":
            let digits = String(scalar.value, radix: 16)
            bytes += "\\u".utf8
            bytes += repeatElement(UInt8(ascii: "0"), count: 4 - digits.utf8.count)
            bytes += digits.utf8
        default: bytes += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
        }
    }
}
