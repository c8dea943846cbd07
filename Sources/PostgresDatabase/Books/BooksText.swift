import FoundationEssentials
import Subscriptions

/// Rows of the books as PostgreSQL takes and gives them: as JSON to write, as text to read.
///
/// PostgreSQL's text holds no NUL. It is written as U+001A and a digit, and so is U+001A itself.
struct BooksText {
    let table: BooksTable

    /// A value whose form its column has not, in a table that has no place for such.
    struct Misfit: Error {
        let column: String
    }

    /// All columns of the table there, except for the number of the books.
    var columns: [String] {
        table.columns.map(\.name)
            + (BooksSchema.keepsUnreadable(table) ? [BooksSchema.unreadable] : [])
    }

    // MARK: - Writing

    /// A list of objects, for `json_populate_recordset`.
    func json(of rows: [[BooksValue]]) throws(Misfit) -> String {
        try json(of: rows, table.columns)
    }

    /// Returns keys as a JSON text.
    func json(ofKeys keys: [[BooksValue]]) throws(Misfit) -> String {
        try json(
            of: keys,
            table.key.compactMap { name in table.columns.first { $0.name == name } })
    }

    private func json(
        of rows: [[BooksValue]], _ columns: [BooksColumn]
    ) throws(Misfit) -> String {
        var text: [UInt8] = [UInt8(ascii: "[")]
        for row in rows {
            if text.count > 1 { text.append(UInt8(ascii: ",")) }
            try append(row, of: columns, to: &text)
        }
        text.append(UInt8(ascii: "]"))
        return String(decoding: text, as: UTF8.self)
    }

    private func append(
        _ row: [BooksValue], of columns: [BooksColumn], to text: inout [UInt8]
    ) throws(Misfit) {
        var unreadable: [(String, BooksValue)] = []
        var isFirst = true
        text.append(UInt8(ascii: "{"))
        for (column, value) in zip(columns, row) where value != .null {
            guard value.fits(column.form) else {
                guard BooksSchema.keepsUnreadable(table) else { throw Misfit(column: column.name) }
                unreadable.append((column.name, value))
                continue
            }
            if !isFirst { text.append(UInt8(ascii: ",")) }
            isFirst = false
            Self.append(string: column.name, to: &text)
            text.append(UInt8(ascii: ":"))
            Self.append(value, to: &text)
        }
        if !unreadable.isEmpty {
            if !isFirst { text.append(UInt8(ascii: ",")) }
            Self.append(string: BooksSchema.unreadable, to: &text)
            text.append(UInt8(ascii: ":"))
            Self.append(string: Self.text(ofUnreadable: unreadable), to: &text)
        }
        text.append(UInt8(ascii: "}"))
    }

    private static func append(_ value: BooksValue, to text: inout [UInt8]) {
        switch value {
        case .null: text += "null".utf8
        case .integer(let number): text += String(number).utf8
        // Its shortest text that reads as the same number.
        case .real(let number): text += (number.isFinite ? "\(number)" : "null").utf8
        case .text(let string): append(string: string, to: &text)
        case .blob(let bytes):
            text += #""\\x"#.utf8
            append(hexadecimal: bytes, to: &text)
            text.append(UInt8(ascii: "\""))
        }
    }

    private static let substitute: UInt8 = 0x1A

    private static func append(string: String, to text: inout [UInt8]) {
        text.append(UInt8(ascii: "\""))
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                text.append(UInt8(ascii: "\\"))
                text.append(byte)
            case 0: text += #"\u001a0"#.utf8
            case substitute: text += #"\u001a1"#.utf8
            case ..<0x20:
                text += #"\u00"#.utf8
                append(hexadecimal: CollectionOfOne(byte), to: &text)
            default: text.append(byte)
            }
        }
        text.append(UInt8(ascii: "\""))
    }

    private static func append(hexadecimal bytes: some Sequence<UInt8>, to text: inout [UInt8]) {
        let digits = Array("0123456789abcdef".utf8)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
    }

    /// Column, form and value of each, as JSON.
    private static func text(ofUnreadable values: [(String, BooksValue)]) -> String {
        var text: [UInt8] = [UInt8(ascii: "{")]
        for (column, value) in values {
            if text.count > 1 { text.append(UInt8(ascii: ",")) }
            append(string: column, to: &text)
            let (form, shown) =
                switch value {
                case .text(let string): ("text", string)
                case .integer(let number): ("integer", String(number))
                case .real(let number): ("real", "\(number)")
                case .blob(let bytes): ("blob", hexadecimal(bytes))
                case .null: ("null", "")
                }
            text += ":{".utf8
            append(string: form, to: &text)
            text.append(UInt8(ascii: ":"))
            append(string: shown, to: &text)
            text.append(UInt8(ascii: "}"))
        }
        text.append(UInt8(ascii: "}"))
        return String(decoding: text, as: UTF8.self)
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        append(hexadecimal: bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// A value of a key, as a parameter.
    static func parameter(_ value: BooksValue) -> String? {
        switch value {
        case .null, .blob: nil
        case .integer(let number): String(number)
        case .real(let number): "\(number)"
        case .text(let string): substituted(string)
        }
    }

    private static func substituted(_ string: String) -> String {
        guard string.utf8.contains(where: { $0 == 0 || $0 == substitute }) else { return string }
        return String(
            decoding: string.utf8.flatMap { byte -> [UInt8] in
                switch byte {
                case 0: [substitute, UInt8(ascii: "0")]
                case substitute: [substitute, UInt8(ascii: "1")]
                default: [byte]
                }
            }, as: UTF8.self)
    }

    // MARK: - Reading

    /// A row that was read with the columns of `columns`; `nil` where it is not one of the table's.
    func row(_ texts: [String?]) -> [BooksValue]? {
        guard texts.count == columns.count else { return nil }
        var row: [BooksValue] = []
        for (column, text) in zip(table.columns, texts) {
            guard let value = Self.value(text, of: column.form) else { return nil }
            row.append(value)
        }
        guard BooksSchema.keepsUnreadable(table), let kept = texts.last ?? nil else { return row }
        guard
            let values = try? JSONDecoder().decode(
                [String: [String: String]].self, from: Data(kept.utf8))
        else { return nil }
        for (index, column) in table.columns.enumerated() {
            guard let shown = values[column.name]?.first else { continue }
            guard let form = BooksColumn.Form(rawValue: shown.key.uppercased()),
                let value = Self.value(
                    form == .blob ? #"\x"# + shown.value : shown.value, of: form)
            else { return nil }
            row[index] = value
        }
        return row
    }

    private static func value(_ text: String?, of form: BooksColumn.Form) -> BooksValue? {
        guard let text else { return .null }
        switch form {
        case .integer: return Int64(text).map(BooksValue.integer)
        case .real: return Double(text).map(BooksValue.real)
        case .text: return .text(restored(text))
        case .blob: return bytes(ofHexadecimal: text.utf8.dropFirst(2)).map(BooksValue.blob)
        }
    }

    private static func restored(_ text: String) -> String {
        guard text.utf8.contains(substitute) else { return text }
        var bytes: [UInt8] = []
        var isSubstituted = false
        for byte in text.utf8 {
            if isSubstituted {
                bytes.append(byte == UInt8(ascii: "0") ? 0 : substitute)
                isSubstituted = false
            } else if byte == substitute {
                isSubstituted = true
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func bytes(ofHexadecimal digits: some Sequence<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var high: UInt8?
        for digit in digits {
            let value: UInt8
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = digit - UInt8(ascii: "a") + 10
            default: return nil
            }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return high == nil ? bytes : nil
    }
}
