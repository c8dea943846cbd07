import Subscriptions

extension UInt8 {
    fileprivate static let comma = UInt8(ascii: ",")
    fileprivate static let quote = UInt8(ascii: "\"")
    fileprivate static let lineFeed = UInt8(ascii: "\n")
    fileprivate static let carriageReturn = UInt8(ascii: "\r")
    fileprivate static let tab = UInt8(ascii: "\t")
}

/// Splits CSV into records and fields as RFC 4180 has them; LF alone ends a line too.
struct CSVSyntax {
    /// For each column of the file its place in the schema; `nil` for one that is not read.
    private var places: [Int?] = []
    private var nextLine = 1
    private(set) var line = 1
    private var separator = UInt8.comma
    /// Whether another service wrote the file: then unknown columns are counted, a semicolon or a tab
    /// may separate fields, and a quote inside a field is text.
    private var isForeign = false
    /// Names of columns that the schema lacks, of a foreign file.
    private(set) var unknownColumns: [String] = []
    private var fieldsOfRecord: [RawField] = []
    private var problem: String?

    /// Reads the header; the columns may be in any order, each once.
    init(
        header buffer: inout RecordBuffer, required: [Int], isForeign: Bool
    ) throws(RowFileError) {
        self.isForeign = isForeign
        if isForeign { separator = try Self.firstSeparator(&buffer) }
        if let other = try Self.otherForm(&buffer) {
            throw RowFileError.header(file: buffer.fileName, line: 1, reason: other)
        }
        guard try readRecord(&buffer) else { throw RowFileError.empty(file: buffer.fileName) }
        let file = buffer.fileName
        let refuse = { (reason: String) in
            RowFileError.header(file: file, line: 1, reason: reason)
        }
        if let problem { throw refuse(problem) }
        if let only = fieldsOfRecord.first, fieldsOfRecord.count == 1,
            let other = Self.otherSeparator(in: Array(buffer.content(of: only)))
        {
            throw refuse(other)
        }
        let names = fieldsOfRecord.map {
            String(decoding: buffer.content(of: $0), as: UTF8.self)
        }
        if let absent = buffer.mapping.absence(among: names, called: "column") {
            throw refuse(absent)
        }
        let unknown = names.filter {
            buffer.mapping.meaning(of: $0, among: buffer.columnNames) == .unknown
        }
        unknownColumns = unknown
        guard unknown.isEmpty || isForeign else {
            throw refuse(
                ColumnMapping.unknown(unknown, among: buffer.columnNames, called: "column"))
        }
        for (index, name) in names.enumerated() {
            switch buffer.mapping.meaning(of: name, among: buffer.columnNames) {
            case .unknown, .ignored: places.append(nil)
            case .column(let place):
                if let earlier = places.firstIndex(of: place) {
                    throw refuse(
                        names[earlier] == name
                            ? "column \"\(name)\" is listed twice"
                            : "columns \(BadField.quoted(names[earlier].utf8)) and "
                                + "\(BadField.quoted(names[index].utf8)) both mean "
                                + "\(buffer.columnNames[place]); leave one out with --ignore")
                }
                places.append(place)
            }
        }
        for place in required where !places.contains(place) {
            throw refuse(
                "column \"\(buffer.columnNames[place])\" is missing and required"
                    + (isForeign
                        ? "; export the file with this column"
                        : "; --map COLUMN=\(buffer.columnNames[place]) names the one that means it")
            )
        }
    }

    /// Reads a file without a header and with only one column.
    init(onlyColumn place: Int) { places = [place] }

    /// The separator of a foreign file: the first comma, semicolon or tab of its header.
    private static func firstSeparator(
        _ buffer: inout RecordBuffer
    ) throws(RowFileError) -> UInt8 {
        var offset = 0
        while offset < buffer.maximumRecordBytes, let byte = try buffer.byte(at: offset) {
            switch byte {
            case UInt8(ascii: ";"), .tab: return byte
            case .comma, .lineFeed: return .comma
            default: offset += 1
            }
        }
        return .comma
    }

    /// Recognizes a common file that is not CSV, by its first bytes.
    private static func otherForm(
        _ buffer: inout RecordBuffer
    ) throws(RowFileError) -> String? {
        var start: [UInt8] = []
        while start.count < 4, let byte = try buffer.byte(at: start.count) { start.append(byte) }
        let saved = "save it as CSV, comma-separated, in UTF-8"
        return switch start {
        case [0x50, 0x4B, 0x03, 0x04]:
            "is a spreadsheet (.xlsx) or another ZIP archive; \(saved)"
        case [0xD0, 0xCF, 0x11, 0xE0]: "is a spreadsheet (.xls); \(saved)"
        case _ where start.first == UInt8(ascii: "["):
            "is a JSON array; write its objects one a line, as jq -c '.[]' does"
        default: nil
        }
    }

    /// Returns the separator of a first line without a comma, if another one is between its
    /// columns.
    private static func otherSeparator(in line: [UInt8]) -> String? {
        let separators = [(UInt8(ascii: ";"), "semicolons"), (UInt8(ascii: "\t"), "tabs")]
        return separators.first { line.contains($0.0) }.map { _, name in
            "its columns are separated by \(name); write it with commas"
        }
    }

    /// Indices into the schema's columns.
    var columns: [Int] { places.compactMap(\.self) }

    private var recordBytes = 0

    /// Reads the next record's fields into the buffer; `nil` at the end of the file.
    mutating func next(
        _ buffer: inout RecordBuffer
    ) throws(RowFileError) -> Result<Int, BadLine>? {
        buffer.advance(by: recordBytes)
        recordBytes = 0
        guard try readRecord(&buffer) else { return nil }
        if let problem { return .failure(BadLine(line: line, reason: problem)) }
        if fieldsOfRecord.count == 1, fieldsOfRecord[0].count == 0, recordBytes <= 2 {
            return .failure(BadLine(line: line, reason: "is empty"))
        }
        guard fieldsOfRecord.count == places.count else {
            return .failure(
                BadLine(
                    line: line,
                    reason: "has \(fieldsOfRecord.count) fields where the header names "
                        + "\(places.count)"))
        }
        for (column, field) in fieldsOfRecord.enumerated() {
            guard let place = places[column] else { continue }
            buffer.fields[place] = field
        }
        return .success(line)
    }

    /// Finds the fields of one record; `false` when there is none.
    private mutating func readRecord(_ buffer: inout RecordBuffer) throws(RowFileError) -> Bool {
        fieldsOfRecord.removeAll(keepingCapacity: true)
        problem = nil
        line = nextLine
        guard try buffer.byte(at: 0) != nil else { return false }
        var offset = 0
        var end: UInt8?
        repeat {
            // Between tabs nothing is quoted.
            if separator != .tab, try buffer.byte(at: offset) == .quote {
                (offset, end) = try readQuoted(&buffer, from: offset)
            } else {
                (offset, end) = try readPlain(&buffer, from: offset)
            }
            if offset > buffer.maximumRecordBytes {
                try skipLongRecord(&buffer, offset, atLineEnd: end != separator)
                return true
            }
        } while end == separator
        recordBytes = offset
        nextLine += 1 + lineFeedsInQuotes(buffer)
        return true
    }

    /// A record that spans several lines moves the count of lines on by as many.
    private func lineFeedsInQuotes(_ buffer: borrowing RecordBuffer) -> Int {
        fieldsOfRecord.reduce(0) { sum, field in
            field.isQuoted ? sum + buffer.content(of: field).count { $0 == .lineFeed } : sum
        }
    }

    /// The record is dropped from memory; only that it was too long is known.
    private mutating func skipLongRecord(
        _ buffer: inout RecordBuffer, _ offset: Int, atLineEnd: Bool
    ) throws(RowFileError) {
        let loaded = min(offset, buffer.loadedOffset)
        nextLine += buffer.bytes[buffer.start..<buffer.start + loaded - (atLineEnd ? 1 : 0)]
            .count { $0 == .lineFeed }
        problem =
            "is longer than \(buffer.maximumRecordBytes) bytes; is a closing quote missing?"
        if atLineEnd {
            buffer.advance(by: offset)
        } else {
            try buffer.discardLine(from: offset)
        }
        nextLine += 1
        recordBytes = 0
    }

    /// A field without quotes: its end is a separator, a line end or the end of the file.
    private mutating func readPlain(
        _ buffer: inout RecordBuffer, from begin: Int
    ) throws(RowFileError) -> (Int, UInt8?) {
        var offset = begin
        while true {
            guard let end = buffer.findSeparatorOrQuote(from: offset, separator) else {
                offset = buffer.loadedOffset
                if offset > buffer.maximumRecordBytes { return (offset, separator) }
                guard try buffer.more() else {
                    append(buffer, from: begin, to: offset, isLineEnd: true)
                    return (offset, nil)
                }
                continue
            }
            let found = buffer.bytes[buffer.start + end]
            guard found == .quote else {
                append(buffer, from: begin, to: end, isLineEnd: found == .lineFeed)
                return (end + 1, found)
            }
            if !isForeign {
                problem =
                    "has a quote inside a field without quotes; put the field in quotes and double it"
            }
            offset = end + 1
        }
    }

    private mutating func append(
        _ buffer: borrowing RecordBuffer, from begin: Int, to end: Int, isLineEnd: Bool
    ) {
        var end = end
        if isLineEnd, end > begin, buffer.bytes[buffer.start + end - 1] == .carriageReturn {
            end -= 1
        }
        fieldsOfRecord.append(RawField(offset: begin, count: end - begin, form: .plain))
    }

    /// A field in quotes, which may hold commas, line ends and doubled quotes.
    private mutating func readQuoted(
        _ buffer: inout RecordBuffer, from quote: Int
    ) throws(RowFileError) -> (Int, UInt8?) {
        var offset = quote + 1
        var form = RawField.Form.plain
        while true {
            guard let found = buffer.find(.quote, from: offset) else {
                offset = buffer.loadedOffset
                if offset > buffer.maximumRecordBytes { return (offset, separator) }
                guard try buffer.more() else {
                    problem = "has an opening quote that is never closed"
                    return (offset, nil)
                }
                continue
            }
            offset = found + 1
            let next = try buffer.byte(at: offset)
            if next == .quote {
                form = .doubledQuotes
                offset += 1
            } else if !isForeign || next.map({ Self.endsField($0, separator) }) ?? true {
                break
            }
        }
        fieldsOfRecord.append(
            RawField(
                offset: quote + 1, count: offset - quote - 2, form: form, isQuoted: true))
        return try endOfQuoted(&buffer, at: offset)
    }

    private static func endsField(_ byte: UInt8, _ separator: UInt8) -> Bool {
        byte == separator || byte == .lineFeed || byte == .carriageReturn
    }

    /// After the closing quote only a separator or a line end may follow.
    private mutating func endOfQuoted(
        _ buffer: inout RecordBuffer, at offset: Int
    ) throws(RowFileError) -> (Int, UInt8?) {
        switch try buffer.byte(at: offset) {
        case nil: return (offset, nil)
        case separator: return (offset + 1, separator)
        case UInt8.lineFeed: return (offset + 1, UInt8.lineFeed)
        case UInt8.carriageReturn where try buffer.byte(at: offset + 1) == UInt8.lineFeed:
            return (offset + 2, .lineFeed)
        default:
            let end = try readPlain(&buffer, from: offset)
            problem = "has text behind a closing quote"
            return end
        }
    }
}

/// A line of CSV (RFC 4180) with its values as they are, so that an import reads them back.
extension [FieldValue] {
    /// Appends the values as a line; the first line of a file has the names of the columns.
    package func appendCSV(to output: inout [UInt8]) {
        for (index, value) in enumerated() {
            if index > 0 { output.append(.comma) }
            switch value {
            case .null: break
            case .text(let text): Self.append(text, to: &output)
            case .integer(let number): output.append(contentsOf: String(number).utf8)
            case .time(let time): output.append(contentsOf: time.rfc3339.utf8)
            }
        }
        output.append(contentsOf: [.carriageReturn, .lineFeed])
    }

    private static func append(_ text: String, to output: inout [UInt8]) {
        let needsQuotes = text.utf8.contains { byte in
            byte == .quote || byte == .comma || byte == .lineFeed || byte == .carriageReturn
        }
        guard needsQuotes else {
            output.append(contentsOf: text.utf8)
            return
        }
        output.append(.quote)
        for byte in text.utf8 {
            if byte == .quote { output.append(.quote) }
            output.append(byte)
        }
        output.append(.quote)
    }
}

/// The mapping from the company's column names to trueup's, as `--map` and `--ignore` give it.
package struct ColumnMapping: Hashable, Sendable {
    /// Our column for a name of the file; `nil` for one that is not read.
    private let ours: [String: String?]
    /// Whether letters and digits alone tell names apart: "Opt-Ins" is "opt ins".
    private let isLoose: Bool

    /// - Parameters:
    ///   - ours: our column for a name of the file; `nil` for one that is not read.
    ///   - isLoose: whether letters and digits alone tell names apart.
    package init(_ ours: [String: String?] = [:], isLoose: Bool = false) {
        self.ours = ours
        self.isLoose = isLoose
    }

    /// A name as it is compared where spelling is loose.
    static func letters(_ name: String) -> [UInt8] {
        name.lowercased().utf8.filter { (0x61...0x7A).contains($0) || $0.isDigit }
    }

    var isEmpty: Bool { ours.isEmpty }

    enum Meaning: Equatable {
        /// The place of a column in the schema.
        case column(Int)
        case ignored
        case unknown
    }

    func names(_ name: String) -> Bool { ours[name] != nil }

    func meaning(of name: String, among columnNames: [String]) -> Meaning {
        let wanted: String
        switch ours[name] {
        case .some(.none): return .ignored
        case .some(.some(let column)): wanted = column
        case .none: wanted = name
        }
        let place =
            isLoose
            ? columnNames.firstIndex { Self.letters($0) == Self.letters(wanted) }
            : columnNames.firstIndex(of: wanted)
        return place.map(Meaning.column) ?? .unknown
    }

    /// Returns the error for names in the mapping that the file lacks, all of them: each is a typing
    /// mistake, and the intended column would be left out or refused.
    func absence(among names: [String], called what: String) -> String? {
        let present = Set(names)
        let absent = ours.keys.filter { !present.contains($0) }.sorted()
        guard let first = absent.first else { return nil }
        let others = names.filter { !self.names($0) }
        func question(about name: String) -> String {
            name.nearest(among: others).map { "; did you mean \(BadField.quoted($0.utf8))?" } ?? ""
        }
        guard absent.count > 1 else {
            return "has no \(what) \(BadField.quoted(first.utf8)), which --map or --ignore names"
                + question(about: first)
        }
        let list = absent.map { BadField.quoted($0.utf8) + question(about: $0) }
        return "has none of \(absent.count) \(what)s that --map and --ignore name: "
            + list.joined(separator: ", ")
    }
}

/// Suggestions for a column that does not exist.
extension ColumnMapping {
    private static let options = "(--map COLUMN=OURS maps a column, --ignore COLUMN leaves it out)"

    /// Returns the text about unknown names, all of them, so that a person need not try one after
    /// the other.
    static func unknown(
        _ unknown: [String], among names: [String], called what: String
    ) -> String {
        let suggestions = unknown.map { $0.nearest(among: names) }
        let named = zip(unknown, suggestions).map { name, nearest in
            BadField.quoted(name.utf8) + (nearest.map { "; did you mean \"\($0)\"?" } ?? "")
        }
        let lacksOne = suggestions.contains { $0 == nil }
        let known = lacksOne ? "; trueup knows \(names.joined(separator: ", "))" : ""
        guard unknown.count > 1 else {
            return "unknown \(what) " + (named.first ?? "") + "\(known) \(options)"
        }
        return "\(unknown.count) unknown \(what)s: " + named.joined(separator: ", ")
            + "\(known) \(options)"
    }
}
