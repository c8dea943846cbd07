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
        var output = ""
        append(to: &output)
        return output
    }

    private func append(to output: inout String) {
        switch self {
        case .null: output += "null"
        case .boolean(let value): output += value ? "true" : "false"
        case .integer(let value): output += String(value)
        case .string(let value): Self.append(quoted: value, to: &output)
        case .array(let values):
            output += "["
            for (index, value) in values.enumerated() {
                if index > 0 { output += "," }
                value.append(to: &output)
            }
            output += "]"
        case .object(let members):
            output += "{"
            let sorted = members.sorted { $0.key.precedesByBytes($1.key) }
            for (index, member) in sorted.enumerated() {
                if index > 0 { output += "," }
                Self.append(quoted: member.key, to: &output)
                output += ":"
                member.value.append(to: &output)
            }
            output += "}"
        }
    }

    /// RFC 8259 escapes only what must be escaped; U+2028 and U+2029 too, for readers in browsers.
    private static func append(quoted text: String, to output: inout String) {
        output += "\""
        if isPlain(text) {
            output += text
        } else {
            append(escaped: text, to: &output)
        }
        output += "\""
    }

    /// Whether nothing in a text could have to be escaped, by a quick look at its bytes.
    ///
    /// 0xE2 is the first byte of U+2028 and U+2029, and of much else.
    private static func isPlain(_ text: String) -> Bool {
        let bytes = text.utf8Span.span
        for index in bytes.indices {
            switch bytes[index] {
            case ..<0x20, UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x7F, 0xE2: return false
            default: break
            }
        }
        return true
    }

    private static func append(escaped text: String, to output: inout String) {
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": output += "\\\""
            case "\\": output += "\\\\"
            case "\n": output += "\\n"
            case "\r": output += "\\r"
            case "\t": output += "\\t"
            case "\u{0}"..."\u{1F}", "\u{7F}", "\u{2028}", "\u{2029}":
                let digits = String(scalar.value, radix: 16)
                output += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: output.unicodeScalars.append(scalar)
            }
        }
    }
}
