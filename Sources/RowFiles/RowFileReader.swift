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
    /// The columns that the last line gave, in the schema's order; `nil` where every line gives
    /// those of the header.
    package var given: ColumnSet? { csv == nil ? jsonLines.named : nil }
    /// Columns of another service's file that are not read.
    package var unknownColumns: [String] { csv?.unknownColumns ?? [] }

    /// The facts that identify another service's file, once it is read to its end.
    package var seal: InputSeal? { buffer.seal }

    private var buffer: RecordBuffer
    private var csv: CSVSyntax?
    private var jsonLines = JSONLinesSyntax()
    private let makeRow: (borrowing RecordBuffer) throws(BadField) -> Row

    /// - Parameters:
    ///   - path: `-` is standard input.
    ///   - fields: the columns that a file may have, in the order of `given`; `nil` for all.
    ///   - required: the columns that a CSV must have.
    ///   - mapping: what columns with other names mean.
    ///   - bareColumn: the column of a file that is base64 line by line, without a header.
    ///   - maximumRecordBytes: longer lines are bad.
    ///   - isForeign: whether another service wrote the file, which is CSV with columns of its own.
    ///   - fault: what is wrong with the columns that the file has; `nil` for nothing.
    ///   - makeRow: makes a row of one line's fields, or says what is wrong with it.
    /// - Throws: `RowFileError` when the file as a whole cannot be used.
    init(
        path: String, fields: [Field]? = nil, required: Set<Field>,
        mapping: ColumnMapping = ColumnMapping(),
        bareColumn: Field? = nil, maximumRecordBytes: Int = RecordBuffer.usualRecordBytes,
        isForeign: Bool = false, fault: (Set<Field>) -> String? = { _ in nil },
        makeRow: @escaping (borrowing RecordBuffer) throws(BadField) -> Row
    ) throws(RowFileError) {
        let columns = fields ?? Array(Field.allCases)
        var buffer = try RecordBuffer(
            file: try InputFile(path: path, isSealed: isForeign),
            columnNames: columns.map(\.rawValue),
            mapping: mapping, maximumRecordBytes: maximumRecordBytes)
        let first = try buffer.byte(at: 0)
        let format = isForeign ? .csv : RowFormat.of(path: path, firstByte: first)
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
                        header: &buffer, required: isRequired.indices.filter { isRequired[$0] },
                        isForeign: isForeign)
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
        let present = Set(places.map { columns[$0] })
        if let fault = fault(present) {
            throw .header(file: buffer.fileName, line: 1, reason: fault)
        }
        self.columns = present
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

    /// By the ending of the name, otherwise by the first byte: JSON Lines begin with `{`.
    static func of(path: String, firstByte: UInt8?) -> RowFormat {
        let name = path.lowercased()
        if name.hasSuffix(".csv") { return .csv }
        if name.hasSuffix(".jsonl") || name.hasSuffix(".ndjson") { return .jsonLines }
        return firstByte == UInt8(ascii: "{") ? .jsonLines : .csv
    }
}

/// The reason why a file of rows cannot be used as a whole (exit 65); a single bad line is a
/// `BadLine`.
package enum RowFileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// It could not be opened or read; the reason is the operating system's.
    case unreadable(file: String, reason: String)
    /// It holds nothing at all.
    case empty(file: String)
    /// It is not UTF-8 text (UTF-16, compressed).
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

extension AppIdentity {
    /// Whether it can be the app of a line; what the line does not name fits any app.
    func fits(bundleID: String?, environment: String?) -> Bool {
        (bundleID ?? self.bundleID) == self.bundleID
            && (environment ?? self.environment.rawValue) == self.environment.rawValue
    }
}

/// Resolves the app of a line that does not name bundle and environment.
extension [AppIdentity] {
    /// Bundle and environment of a line: absent ones mean the only configured app that fits.
    func resolve(
        bundleID: String?, environment: String?
    ) throws(BadField) -> (bundleID: String, environment: String) {
        if let environment, AppStoreEnvironment(rawValue: environment) == nil {
            let names = AppStoreEnvironment.allCases.map(\.rawValue)
            let nearest = environment.nearest(among: names)
            throw BadField(
                "environment", environment.utf8,
                "is unknown; "
                    + (nearest.map { "write \($0)" } ?? "known are \(names.joined(separator: ", "))")
            )
        }
        if let bundleID, let environment { return (bundleID, environment) }
        let fitting = filter { $0.fits(bundleID: bundleID, environment: environment) }
        guard fitting.count == 1, let app = fitting.first else {
            throw Self.ambiguous(bundleID: bundleID, environment: environment, fitting: fitting)
        }
        return (app.bundleID, app.environment.rawValue)
    }

    private static func ambiguous(
        bundleID: String?, environment: String?, fitting: [AppIdentity]
    ) -> BadField {
        let absent =
            bundleID == nil
            ? (environment == nil ? "bundle_id and environment are" : "bundle_id is")
            : "environment is"
        let reason =
            fitting.isEmpty
            ? "no configured app fits"
            : "several apps are configured: "
                + fitting.map { "\($0.bundleID) in \($0.environment.rawValue)" }
                .joined(separator: ", ")
        return BadField("\(absent) empty and \(reason)")
    }
}

/// A line that cannot be a row, and why.
package struct BadLine: Error, Hashable, Sendable {
    /// Counted from 1; the first line of a record that spans several.
    package var line: Int
    /// A clause for the person who fixes the file; it may quote a short piece of the line.
    package var reason: String

    package init(line: Int, reason: String) {
        self.line = line
        self.reason = reason
    }
}

/// The fault of one field, before its line is known.
struct BadField: Error {
    let reason: String

    init(_ reason: String) {
        self.reason = reason
    }

    /// Names the column and quotes the value, cut and with nothing that a terminal would obey.
    init(_ column: String, _ value: some Sequence<UInt8>, _ problem: String) {
        reason = "\(column) \(Self.quoted(value)) \(problem)"
    }

    private static let maximumQuotedCharacters = 40

    static func quoted(_ value: some Sequence<UInt8>) -> String {
        let start = Array(value.prefix(maximumQuotedCharacters * 4 + 1))
        let text = String(decoding: start, as: UTF8.self)
        var shown = ""
        for scalar in text.unicodeScalars.prefix(maximumQuotedCharacters) {
            let isPrintable = scalar.value >= 0x20 && !scalar.properties.isControlOrFormat
            shown.unicodeScalars.append(isPrintable ? scalar : "\u{FFFD}")
        }
        let isCut = text.unicodeScalars.count > maximumQuotedCharacters
        return "\"" + shown + (isCut ? "…" : "") + "\""
    }
}

extension Unicode.Scalar.Properties {
    /// Control characters, and those that turn the reading direction or hide themselves.
    fileprivate var isControlOrFormat: Bool {
        generalCategory == .control || generalCategory == .format
            || generalCategory == .lineSeparator || generalCategory == .paragraphSeparator
    }
}
