import JSONWebSignature

/// One record of a CSV file: its bytes, and where its fields end.
///
/// A report has some sixteen such lines for a correction, which repeat each other except for three
/// fields, so a field becomes a text only where a person asks for it.
struct CSVRecord {
    private static let quote = UInt8(ascii: "\"")

    /// The columns of the file; a name counts where it is first.
    private let columns: [String]
    private let bytes: [UInt8]
    /// For each field one past its last byte, which is its comma's place.
    private let ends: [Int]
    /// Whether each of its quotes has another one.
    let isClosed: Bool

    /// - Parameters:
    ///   - bytes: The record without its line end.
    ///   - columns: The columns of the file.
    init(_ bytes: [UInt8], columns: [String]) {
        self.bytes = bytes
        self.columns = columns
        var ends: [Int] = []
        ends.reserveCapacity(max(columns.count, 1))
        var isQuoted = false
        let span = bytes.span
        for index in span.indices {
            switch span[index] {
            case Self.quote: isQuoted.toggle()
            case UInt8(ascii: ",") where !isQuoted: ends.append(index)
            default: break
            }
        }
        ends.append(span.count)
        self.ends = ends
        isClosed = !isQuoted
    }

    /// How many fields it has.
    var count: Int { ends.count }

    /// The fields in their order.
    var fields: [String] { ends.indices.map(field) }

    /// The fields by column.
    var byColumn: [String: String] {
        Dictionary(zip(columns, fields)) { first, _ in first }
    }

    /// The field of a column; `nil` where there is no such column.
    subscript(column: String) -> String? { columns.firstIndex(of: column).map(field) }

    /// Whether fields that follow each other are written with the same bytes as in another record
    /// of the file.
    func repeats(_ fields: Range<Int>, of other: CSVRecord) -> Bool {
        raw(fields).hasSameBytes(as: other.raw(fields))
    }

    /// Whether a field has a JSON value; see `String.agrees`.
    func agrees(_ index: Int, with value: JSONValue?) -> Bool {
        guard let value, !value.isNull else { return raw(index).isEmpty }
        // Most texts are here as they are there; the others are taken apart.
        if let text = value.textBytes, raw(index).hasSameBytes(as: text),
            !text.contains(where: { $0 == Self.quote || $0 == 0 })
        {
            return true
        }
        return field(index).agrees(with: value)
    }

    /// The first column whose field has not the value of the member with its name; a column without
    /// one is of a later version.
    func firstColumn(
        unlike record: JSONRecord, among isWanted: (String) -> Bool = { _ in true }
    ) -> String? {
        columns.enumerated().first { place, column in
            guard isWanted(column), let value = record[column] else { return false }
            return !agrees(place, with: value)
        }?.element
    }

    /// The field without its quotes.
    func field(_ index: Int) -> String {
        let raw = raw(index)
        guard raw.contains(Self.quote) else { return String(decoding: raw, as: UTF8.self) }
        var field: [UInt8] = []
        var isQuoted = false
        var index = raw.startIndex
        while index < raw.endIndex {
            let byte = raw[index]
            let next = index + 1
            if byte != Self.quote {
                field.append(byte)
            } else if isQuoted, next < raw.endIndex, raw[next] == Self.quote {
                field.append(byte)
                index += 1
            } else {
                isQuoted.toggle()
            }
            index += 1
        }
        return String(decoding: field, as: UTF8.self)
    }

    private func raw(_ index: Int) -> ArraySlice<UInt8> { raw(index..<index + 1) }

    /// The fields with the commas between them; there is at least one.
    private func raw(_ fields: Range<Int>) -> ArraySlice<UInt8> {
        let first = fields.lowerBound
        return bytes[(first == 0 ? 0 : ends[first - 1] + 1)..<ends[fields.upperBound - 1]]
    }
}

/// Reads the records of a CSV file (RFC 4180) one by one; its first line names the columns.
final class CSVRecords: RecordReader {
    private let lines: LineFile
    let columns: [String]
    /// A record that was checked and not yet returned.
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

/// A field of a CSV file, compared with JSON values.
extension String {
    /// Whether the field has a JSON value.
    ///
    /// Null is an empty field, a list its elements separated by spaces. A text that a spreadsheet
    /// would evaluate has an apostrophe in front, and before each such sign inside; NUL becomes
    /// U+FFFD.
    func agrees(with value: JSONValue?) -> Bool {
        guard let value, !value.isNull else { return isEmpty }
        if value.isArray {
            return isSame(as: value.elements.compactMap(\.text).joined(separator: " "))
        }
        guard let text = value.text else { return isSame(as: value.source) }
        return agrees(withText: text)
    }

    /// Whether the field has a text.
    func agrees(withText text: String) -> Bool {
        let shown = text.utf8.contains(0) ? Self.withoutNUL(text) : text
        return isSame(as: shown)
            || unicodeScalars.first == "'" && Self.isDefused(unicodeScalars.dropFirst(), shown)
    }

    private static func withoutNUL(_ text: String) -> String {
        String(UnicodeScalarView(text.unicodeScalars.map { $0 == "\0" ? "\u{FFFD}" : $0 }))
    }

    /// Whether a field is the text with only apostrophes added, each before a sign that a
    /// spreadsheet would evaluate.
    private static func isDefused(
        _ field: UnicodeScalarView.SubSequence, _ text: String
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
