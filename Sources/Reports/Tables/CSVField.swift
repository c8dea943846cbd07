/// A text field of RFC 4180 that no spreadsheet runs as a formula.
enum CSVField {
    /// Appends the field.
    ///
    /// Foreign text that a spreadsheet would take for a formula gets an apostrophe in front. NUL,
    /// at which readers of CSV stop, becomes U+FFFD; JSON Lines holds the exact text.
    static func append(_ text: String, isForeign: Bool, to bytes: inout [UInt8]) {
        var special = false
        var hasNUL = false
        for byte in text.utf8 where byte < 0x2D {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: ","), 0x0A, 0x0D: special = true
            case 0: hasNUL = true
            default: break
            }
        }
        var field = isForeign && runsAsFormula(text) ? "'" + text : text
        if hasNUL {
            field = String(
                String.UnicodeScalarView(
                    field.unicodeScalars.map { $0 == "\0" ? "\u{FFFD}" : $0 }))
        }
        // Blanks at the ends are quoted because readers may trim them.
        let isPadded = field.utf8.first == 0x20 || field.utf8.last == 0x20
        guard special || isPadded else {
            bytes.append(contentsOf: field.utf8)
            return
        }
        bytes.append(UInt8(ascii: "\""))
        for byte in field.utf8 {
            if byte == UInt8(ascii: "\"") { bytes.append(byte) }
            bytes.append(byte)
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Whether a spreadsheet may run the text.
    ///
    /// It does when the text begins with `=`, `+`, `-` or `@`, in full width too, after white space
    /// or marks that show nothing; or with a tab or line break, which some drop.
    /// Source: OWASP, CSV injection.
    static func runsAsFormula(_ text: String) -> Bool {
        for scalar in text.unicodeScalars {
            switch scalar {
            case "=", "+", "-", "@", "\u{FF1D}", "\u{FF0B}", "\u{FF0D}", "\u{FF20}", "\t", "\r",
                "\n":
                return true
            case "\u{0}"..."\u{20}", "\u{AD}", "\u{200B}"..."\u{200F}", "\u{202A}"..."\u{202E}",
                "\u{2060}"..."\u{2069}", "\u{FEFF}":
                continue
            default:
                guard scalar.properties.isWhitespace else { return false }
            }
        }
        return false
    }
}
