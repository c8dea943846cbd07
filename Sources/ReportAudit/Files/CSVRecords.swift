import JSONWebSignature

/// Reads the records of a CSV file (RFC 4180) one by one; its first line names the columns.
final class CSVRecords {
    private let lines: LineFile
    let columns: [String]
    /// A record that was looked at and not yet returned.
    private var ahead: CSVRecord?

    init(_ path: String) throws(UnreadableFile) {
        lines = try LineFile(path)
        columns = try Self.record(of: lines, [])?.fields ?? []
    }

    /// The last line of the record that was returned last.
    var lineNumber: Int { lines.lineNumber }

    /// The next record; `nil` at the end.
    ///
    /// - Throws: Also when the record has another number of fields than the header.
    func next() throws(UnreadableFile) -> CSVRecord? {
        if let record = ahead {
            ahead = nil
            return record
        }
        guard let record = try Self.record(of: lines, columns) else { return nil }
        guard record.count == columns.count else {
            throw UnreadableFile(
                "line \(lineNumber) has \(record.count) fields instead of \(columns.count)")
        }
        return record
    }

    /// The next record without taking it; `nil` at the end.
    ///
    /// - Throws: As `next` does.
    func peek() throws(UnreadableFile) -> CSVRecord? {
        if ahead == nil { ahead = try next() }
        return ahead
    }

    /// Whether no record follows.
    ///
    /// - Throws: As `next` does.
    func isAtEnd() throws(UnreadableFile) -> Bool { try peek() == nil }

    /// A quoted field may contain line feeds, so a record continues while a quote is open.
    private static func record(
        of lines: LineFile, _ columns: [String]
    ) throws(UnreadableFile) -> CSVRecord? {
        guard var bytes = try lines.next() else { return nil }
        while true {
            let isEnded = bytes.last == 0x0D
            if isEnded { bytes.removeLast() }
            let record = CSVRecord(bytes, columns: columns)
            guard !record.isClosed else {
                guard isEnded else {
                    throw UnreadableFile(
                        "line \(lines.lineNumber) does not end as RFC 4180 demands")
                }
                return record
            }
            guard bytes.count <= LineFile.lineLimitBytes, let more = try lines.next() else {
                throw UnreadableFile("line \(lines.lineNumber) leaves a quote open")
            }
            if isEnded { bytes.append(0x0D) }
            bytes.append(0x0A)
            bytes += more
        }
    }
}

/// Compares CSV fields with JSON values.
enum CSVField {
    /// Whether a field has a JSON value.
    ///
    /// Null is an empty field, a list its elements separated by spaces. A text that a spreadsheet
    /// would evaluate has an apostrophe in front, and before each such sign inside; NUL becomes
    /// U+FFFD.
    static func agrees(_ field: String, with value: JSONValue?) -> Bool {
        guard let value, !value.isNull else { return field.isEmpty }
        if value.isArray {
            return field.isSame(as: value.elements.compactMap(\.text).joined(separator: " "))
        }
        guard let text = value.text else { return field.isSame(as: value.source) }
        return agrees(field, withText: text)
    }

    /// Whether a field has a text.
    static func agrees(_ field: String, withText text: String) -> Bool {
        let shown = text.utf8.contains(0) ? withoutNUL(text) : text
        return field.isSame(as: shown)
            || field.unicodeScalars.first == "'"
                && isDefused(field.unicodeScalars.dropFirst(), shown)
    }

    private static func withoutNUL(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { $0 == "\0" ? "\u{FFFD}" : $0 }))
    }

    /// Whether a field is the text with only apostrophes added, each before a sign that a
    /// spreadsheet would evaluate.
    private static func isDefused(
        _ field: String.UnicodeScalarView.SubSequence, _ text: String
    ) -> Bool {
        var rest = text.unicodeScalars[...]
        var field = field
        while let scalar = field.popFirst() {
            if scalar == rest.first {
                rest.removeFirst()
            } else if scalar != "'" || field.first.map({ !signs.contains($0) }) ?? true {
                return false
            }
        }
        return rest.isEmpty
    }

    private static let signs: Set<Unicode.Scalar> = [
        "=", "+", "-", "@", "\u{FF1D}", "\u{FF0B}", "\u{FF0D}", "\u{FF20}",
    ]
}
