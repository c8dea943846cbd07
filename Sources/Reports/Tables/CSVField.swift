/// A text field of RFC 4180 that no spreadsheet runs as a formula.
enum CSVField {
    /// Appends the field.
    ///
    /// Foreign text that a spreadsheet would take for a formula is defused. NUL, at which readers
    /// of CSV stop, becomes U+FFFD; JSON Lines holds the exact text.
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
        var field = isForeign ? defused(text) : text
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

    /// The text with an apostrophe in front of whatever a spreadsheet may run.
    ///
    /// It runs a cell that begins with `=`, `+`, `-` or `@`, in full width too, after white space,
    /// marks that show nothing, or quotes; or with a tab or line break, which some drop. A cell need
    /// not be a field: opened with another separator than the comma, where a quote in the middle of
    /// a line protects nothing, every `;` or tab of a text begins a cell. Where that happens, the
    /// field begins with an apostrophe too, so that a reader sees that it was changed.
    /// Source: OWASP, CSV injection.
    private static func defused(_ text: String) -> String {
        guard mayRun(text) else { return text }
        var defused = String.UnicodeScalarView()
        // Nothing was read since the cell began that keeps a spreadsheet from running it.
        var isAtStartOfCell = true
        var isFirstCell = true
        var isChanged = false
        for scalar in text.unicodeScalars {
            switch scalar {
            case "=", "+", "-", "@", "\u{FF1D}", "\u{FF0B}", "\u{FF0D}", "\u{FF20}":
                if isAtStartOfCell {
                    isChanged = true
                    if !isFirstCell { defused.append("'") }
                }
                isAtStartOfCell = false
            case ";", ",", "|", "\t", "\r", "\n":
                if isFirstCell, isAtStartOfCell, scalar.value < 0x20 { isChanged = true }
                isAtStartOfCell = true
                isFirstCell = false
            default:
                if !showsNothing(scalar) { isAtStartOfCell = false }
            }
            defused.append(scalar)
        }
        return isChanged ? "'" + String(defused) : text
    }

    /// A quick look at the bytes first: hardly any text has anything to defuse.
    private static func mayRun(_ text: String) -> Bool {
        text.utf8.contains { byte in
            switch byte {
            case UInt8(ascii: "="), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "@"), 0xEF,
                0x09, 0x0A, 0x0D:
                true
            default: false
            }
        }
    }

    private static func showsNothing(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "\u{0}"..."\u{20}", "\"", "\u{AD}", "\u{200B}"..."\u{200F}",
            "\u{202A}"..."\u{202E}", "\u{2060}"..."\u{2069}", "\u{FEFF}":
            true
        default: scalar.properties.isWhitespace
        }
    }
}
