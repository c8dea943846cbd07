package import Subscriptions

/// One line of a file: a row, or why it cannot be one.
package enum RowLine<Row: Sendable>: Sendable {
    case row(Row, line: Int)
    case bad(BadLine)
}

/// Reads a file of rows, CSV or JSON Lines, from front to back.
///
/// Memory stays flat: one chunk of the file and one row at a time, whatever its size. Bad lines are
/// answers, not errors; an error concerns the file as a whole.
package struct RowFileReader<Field: NamedColumn, Row: Sendable>: ~Copyable {
    /// The columns that the file has; a column that it lacks is not known, rather than empty.
    package private(set) var columns: Set<Field>
    package let format: RowFormat
    /// The columns that the last line gave, in the schema's order; `nil` where every line gives those
    /// of the header.
    package var given: ColumnSet? { csv == nil ? jsonLines.named : nil }

    private var buffer: RecordBuffer
    private var csv: CSVSyntax?
    private var jsonLines = JSONLinesSyntax()
    private let makeRow: (borrowing RecordBuffer) throws(BadField) -> Row

    /// - Parameters:
    ///   - path: `-` is standard input.
    ///   - required: the columns that a CSV must have.
    ///   - mapping: what columns with other names mean.
    ///   - bareColumn: the column of a file that is base64 line by line, without a header.
    ///   - maximumRecordBytes: longer lines are bad.
    ///   - makeRow: makes a row of one line's fields, or says what is wrong with it.
    /// - Throws: `RowFileError` when the file as a whole cannot be used.
    init(
        path: String, required: Set<Field>, mapping: ColumnMapping = ColumnMapping(),
        bareColumn: Field? = nil, maximumRecordBytes: Int = RecordBuffer.usualRecordBytes,
        makeRow: @escaping (borrowing RecordBuffer) throws(BadField) -> Row
    ) throws(RowFileError) {
        let columns = Array(Field.allCases)
        var buffer = try RecordBuffer(
            file: try InputFile(path: path), columnNames: columns.map(\.rawValue),
            mapping: mapping, maximumRecordBytes: maximumRecordBytes)
        let format = RowFormat.of(path: path, firstByte: try buffer.byte(at: 0))
        let places: [Int]
        var csv: CSVSyntax?
        switch format {
        case .csv:
            let isRequired = columns.map(required.contains)
            let syntax =
                if let bare = columns.firstIndex(where: { $0 == bareColumn }),
                    try buffer.beginsWithBase64(), mapping.isEmpty
                {
                    CSVSyntax(onlyColumn: bare)
                } else {
                    try CSVSyntax(
                        header: &buffer, required: isRequired.indices.filter { isRequired[$0] })
                }
            csv = syntax
            places = syntax.columns
        case .jsonLines:
            if try !buffer.rewind() {
                // A pipe: its keys are known only at its end, so it is kept until then.
                buffer = try buffer.spooled()
            }
            places = try Self.namedPlaces(&buffer)
        }
        self.columns = Set(places.map { columns[$0] })
        self.format = format
        self.csv = csv
        self.makeRow = makeRow
        self.buffer = buffer
    }

    /// Objects need not name every key, so the file's columns are those of all its lines.
    private static func namedPlaces(
        _ buffer: inout RecordBuffer
    ) throws(RowFileError) -> [Int] {
        var scout = JSONLinesSyntax()
        while try scout.next(&buffer) != nil {}
        if let absent = buffer.mapping.absence(
            among: Array(scout.mappedNames) + scout.unknownNames, called: "key")
        {
            throw RowFileError.header(file: buffer.fileName, line: 1, reason: absent)
        }
        _ = try buffer.rewind()
        return scout.seen.columns
    }

    /// The next line, `nil` at the end of the file.
    package mutating func next() throws(RowFileError) -> RowLine<Row>? {
        let record =
            if csv != nil {
                try csv?.next(&buffer)
            } else {
                try jsonLines.next(&buffer)
            }
        switch record {
        case nil: return nil
        case .failure(let bad): return .bad(bad)
        case .success(let line):
            do throws(BadField) {
                return .row(try makeRow(buffer), line: line)
            } catch {
                return .bad(BadLine(line: line, reason: error.reason))
            }
        }
    }
}

/// The two forms of a file of rows.
package enum RowFormat: Hashable, Sendable {
    case csv
    case jsonLines

    /// By the ending of the name, else by the first byte: JSON Lines begin with `{`.
    static func of(path: String, firstByte: UInt8?) -> RowFormat {
        let name = path.lowercased()
        if name.hasSuffix(".csv") { return .csv }
        if name.hasSuffix(".jsonl") || name.hasSuffix(".ndjson") { return .jsonLines }
        return firstByte == UInt8(ascii: "{") ? .jsonLines : .csv
    }
}

/// Why a file of rows cannot be used as a whole (exit 65); a single bad line is a `BadLine`.
package enum RowFileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// It could not be opened or read; the reason is the operating system's.
    case unreadable(file: String, reason: String)
    /// It holds nothing at all.
    case empty(file: String)
    /// It is no UTF-8 text (UTF-16, compressed).
    case notText(file: String, reason: String)
    /// The first line does not name usable columns.
    case header(file: String, line: Int, reason: String)

    package var description: String {
        switch self {
        case .unreadable(let file, let reason): "\(file): cannot be read: \(reason)"
        case .empty(let file):
            "\(file): is empty; a CSV file begins with a line that names its columns"
        case .notText(let file, let reason): "\(file): \(reason)"
        case .header(let file, let line, let reason): "\(file):\(line): \(reason)"
        }
    }
}
