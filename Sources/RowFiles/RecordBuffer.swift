import Subscriptions

/// The part of a file that is in memory, and the record in it that is being read.
///
/// A record lies in one piece, so its fields are positions and nothing is copied before a value is
/// kept. Memory is bounded by the longest record allowed, whatever the file's size.
struct RecordBuffer: ~Copyable {
    static let chunkBytes = 1 << 18
    /// A row of sixteen columns is a few hundred bytes.
    static let usualRecordBytes = 1 << 20

    private var file: InputFile
    private(set) var bytes: [UInt8]
    /// Where the record begins in `bytes`.
    private(set) var start = 0
    private var filled = 0
    private var isAtEnd = false

    /// The fields of the record, in the order of the schema's columns.
    var fields: [RawField]
    let columnNames: [String]
    private let columnNameBytes: [[UInt8]]
    /// The mapping from names of the file to those of the schema.
    let mapping: ColumnMapping
    /// Longer records are bad lines.
    let maximumRecordBytes: Int

    init(
        file: consuming InputFile, columnNames: [String], mapping: ColumnMapping,
        maximumRecordBytes: Int
    ) throws(RowFileError) {
        self.file = file
        self.columnNames = columnNames
        self.mapping = mapping
        self.maximumRecordBytes = maximumRecordBytes
        columnNameBytes = columnNames.map { Array($0.utf8) }
        bytes = [UInt8](repeating: 0, count: Self.chunkBytes)
        fields = [RawField](repeating: .absent, count: columnNames.count)
        try skipByteOrderMark()
    }

    var fileName: String { file.name }
    var seal: InputSeal? { file.seal }

    /// Returns the file from its beginning, copied to where it can be read twice.
    ///
    /// What was read so far is part of the copy.
    consuming func spooled() throws(RowFileError) -> RecordBuffer {
        let copy = try file.spooled(after: bytes[..<filled])
        return try RecordBuffer(
            file: copy, columnNames: columnNames, mapping: mapping,
            maximumRecordBytes: maximumRecordBytes)
    }

    private mutating func skipByteOrderMark() throws(RowFileError) {
        let first = try byte(at: 0)
        let second = try byte(at: 1)
        switch (first, second) {
        case (0xEF, 0xBB) where try byte(at: 2) == 0xBF: start = 3
        case (0xFF, 0xFE), (0xFE, 0xFF):
            throw RowFileError.notText(
                file: fileName, reason: "is UTF-16; save it as UTF-8 and try again")
        default: break
        }
    }

    /// The byte at an offset from the record's start, read from the file where needed; `nil` at
    /// the end.
    @inline(__always)
    mutating func byte(at offset: Int) throws(RowFileError) -> UInt8? {
        if start + offset < filled { return bytes[start + offset] }
        return try more() ? bytes[start + offset] : nil
    }

    /// Whether the file begins with more base64 than the name of any column.
    mutating func beginsWithBase64() throws(RowFileError) -> Bool {
        for offset in 0..<64 {
            guard let byte = try byte(at: offset) else { return false }
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"),
                UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "="):
                continue
            default: return false
            }
        }
        return true
    }

    /// Offset behind the bytes in memory.
    var loadedOffset: Int { filled - start }

    /// The offset of the first such byte in memory from `offset` on.
    func find(_ wanted: UInt8, from offset: Int) -> Int? {
        var position = start + offset
        while position < filled {
            if bytes[position] == wanted { return position - start }
            position += 1
        }
        return nil
    }

    /// The offset of the first separator, line feed or quote in memory from `offset` on.
    func findSeparatorOrQuote(from offset: Int, _ separator: UInt8) -> Int? {
        var position = start + offset
        while position < filled {
            let byte = bytes[position]
            if byte == separator || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\"") {
                return position - start
            }
            position += 1
        }
        return nil
    }

    /// The offset of the first quote, backslash or control character of a JSON text, or `end`.
    func findTextEnd(from offset: Int, before end: Int) -> Int {
        var position = start + offset
        while position < start + end {
            let byte = bytes[position]
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { break }
            position += 1
        }
        return position - start
    }

    /// Whether a field spells a column's name, byte by byte.
    func isColumn(_ column: Int, _ field: RawField) -> Bool {
        let name = columnNameBytes[column]
        guard name.count == field.count else { return false }
        let first = start + field.offset
        for index in name.indices where bytes[first + index] != name[index] { return false }
        return true
    }

    /// Reads on behind what is in memory; `false` at the end of the file.
    mutating func more() throws(RowFileError) -> Bool {
        guard !isAtEnd else { return false }
        if start > 0 {
            let kept = start..<filled
            unsafe bytes.withUnsafeMutableBytes { memory in
                unsafe memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[kept]))
            }
            filled -= start
            start = 0
        }
        if filled == bytes.count {
            bytes.append(contentsOf: repeatElement(0, count: bytes.count))
        }
        let count = try file.read(into: &bytes, at: filled)
        filled += count
        isAtEnd = count == 0
        return count > 0
    }

    /// Begins the next record this many bytes further.
    mutating func advance(by count: Int) { start += count }

    /// Goes back to the beginning of the file; `false` where that cannot be done.
    mutating func rewind() throws(RowFileError) -> Bool {
        guard file.rewind() else { return false }
        start = 0
        filled = 0
        isAtEnd = false
        try skipByteOrderMark()
        return true
    }

    /// Drops bytes up to and with the next line feed, for a record that is too long to be kept.
    mutating func discardLine(from offset: Int) throws(RowFileError) {
        advance(by: min(offset, loadedOffset))
        while true {
            if let end = find(UInt8(ascii: "\n"), from: 0) {
                advance(by: end + 1)
                return
            }
            advance(by: loadedOffset)
            guard try more() else { return }
        }
    }
}

/// Where a value is in the record, and how to read it.
struct RawField {
    enum Form {
        case absent
        /// The bytes as they are.
        case plain
        /// A quoted CSV field in which quotes are doubled.
        case doubledQuotes
        /// A JSON text with escapes.
        case escaped
        case number
        case boolean
    }

    var offset: Int
    var count: Int
    var form: Form
    /// A CSV field in quotes, which may span lines.
    var isQuoted = false

    static let absent = RawField(offset: 0, count: 0, form: .absent)
}

/// A set of a schema's columns, small enough to be made again for every line.
package struct ColumnSet: Hashable, Sendable {
    /// The first column is the lowest bit.
    package private(set) var bits: UInt64 = 0

    func contains(_ column: Int) -> Bool { bits & (1 << UInt64(column)) != 0 }

    mutating func insert(_ column: Int) { bits |= 1 << UInt64(column) }

    mutating func formUnion(_ other: ColumnSet) { bits |= other.bits }

    var columns: [Int] { (0..<UInt64.bitWidth).filter(contains) }
}

extension NamedColumn {
    /// Its place among all columns, which is that of its field in a record of all columns.
    var place: Int {
        for (index, column) in Self.allCases.enumerated() where column == self { return index }
        return 0
    }

    /// The places of all columns, for files of which many fields are read.
    static func places() -> [Self: Int] {
        Dictionary(allCases.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    }
}

/// Reading the fields of a record by the columns of a table, in whose order they are.
extension RecordBuffer {
    /// Reads every column but the key's into a row.
    ///
    /// - Parameters:
    ///   - columns: All of them, in their order; made once for all rows.
    ///   - row: Gets the values.
    /// - Throws: What is wrong with a field.
    func read<Row, Statement>(
        _ columns: [ColumnDefinition<Row, Statement>], into row: inout Row
    ) throws(BadField) {
        for index in columns.indices {
            if case .key = columns[index].place { continue }
            columns[index].place.set(try value(index, columns[index].content), in: &row)
        }
    }

    private func value(
        _ index: Int, _ content: ColumnContent
    ) throws(BadField) -> FieldValue {
        switch content {
        case .text: FieldValue(try text(index))
        case .id: FieldValue(try id(index))
        case .name: FieldValue(try name(index))
        case .integer(let range, let problem):
            FieldValue(try integer(index, in: range, problem))
        case .flag: FieldValue(try boolean(index))
        case .time: FieldValue(try time(index))
        }
    }
}

/// Reading a field as the value that its column needs; an absent or empty one is `nil`.
extension RecordBuffer {
    /// The bytes of a field as they are in the file.
    func content(of field: RawField) -> ArraySlice<UInt8> {
        bytes[start + field.offset..<start + field.offset + field.count]
    }

    /// The bytes of a field with escapes and doubled quotes resolved.
    func decoded(_ field: RawField) throws(BadField) -> ArraySlice<UInt8> {
        let content = content(of: field)
        switch field.form {
        case .doubledQuotes: return Self.undoubled(content)[...]
        case .escaped: return try Self.unescaped(content)[...]
        default: return content
        }
    }

    /// The bytes of a column as `decoded` gives them; `nil` where it is absent or empty.
    func decoded(_ column: Int) throws(BadField) -> ArraySlice<UInt8>? {
        guard fields[column].form != .absent else { return nil }
        let content = try decoded(fields[column])
        return content.isEmpty ? nil : content
    }

    private static func undoubled(_ content: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(content.count)
        var isSecond = false
        for byte in content {
            isSecond = byte == UInt8(ascii: "\"") && !isSecond
            if !isSecond { result.append(byte) }
        }
        return result
    }

    func text(_ column: Int) throws(BadField) -> String? {
        let field = fields[column]
        switch field.form {
        case .absent: return nil
        case .number, .boolean:
            throw BadField(columnNames[column], content(of: field), "must be a text in quotes")
        case .plain, .doubledQuotes, .escaped: break
        }
        let content = try decoded(field)
        guard !content.isEmpty else { return nil }
        return try validText(content, column)
    }

    /// An id of the company's own making: text, or a whole number in JSON.
    func name(_ column: Int) throws(BadField) -> String? {
        let field = fields[column]
        guard field.form == .number else { return try text(column) }
        let content = content(of: field)
        guard content.allSatisfy({ $0.isDigit }) else {
            throw BadField(columnNames[column], content, "must be a text or a whole number")
        }
        return String(decoding: content, as: UTF8.self)
    }

    private func validText(
        _ content: ArraySlice<UInt8>, _ column: Int
    ) throws(BadField) -> String {
        // Nearly every text is ASCII, which needs no further look.
        if content.isPrintable { return String(decoding: content, as: UTF8.self) }
        guard let text = String(validating: content, as: UTF8.self) else {
            throw BadField("\(columnNames[column]) is not valid UTF-8")
        }
        guard !content.contains(0) else {
            throw BadField("\(columnNames[column]) contains a NUL character")
        }
        return text
    }

    /// An id of Apple's: one to twenty digits, never through a floating-point number.
    func id(_ column: Int) throws(BadField) -> String? {
        guard let content = try decoded(column) else { return nil }
        if content.count <= TransactionID.maximumDigits, content.allSatisfy({ $0.isDigit }),
            fields[column].form != .boolean
        {
            return String(decoding: content, as: UTF8.self)
        }
        throw BadField(columnNames[column], content, Self.problem(ofID: content))
    }

    private static func problem(ofID content: ArraySlice<UInt8>) -> String {
        if content.allSatisfy({ $0.isDigit }) {
            return "is longer than \(TransactionID.maximumDigits) digits"
        }
        let isNumeric = content.allSatisfy { $0.isDigit || "+-.,eE".utf8.contains($0) }
        if isNumeric, content.contains(where: { "eE.".utf8.contains($0) }) {
            return "is a rounded number, not an id; export ids as text"
        }
        if content.first == 0x20 || content.last == 0x20 { return "has spaces around it" }
        return "is not a number of digits"
    }

    func requiredID(_ column: Int) throws(BadField) -> String {
        guard let id = try id(column) else { throw BadField("\(columnNames[column]) is empty") }
        return id
    }

    /// A whole number; a text of digits counts in JSON too.
    private func integer(_ column: Int, _ problem: String) throws(BadField) -> Int64? {
        guard let content = try decoded(column) else { return nil }
        let digits = content.first == UInt8(ascii: "-") ? content.dropFirst() : content
        guard fields[column].form != .boolean, digits.allSatisfy({ $0.isDigit }),
            let number = Int64(String(decoding: content, as: UTF8.self))
        else { throw BadField(columnNames[column], content, problem) }
        return number
    }

    func integer(
        _ column: Int, in range: ClosedRange<Int64>, _ problem: String
    ) throws(BadField) -> Int64? {
        guard let number = try integer(column, problem) else { return nil }
        guard range.contains(number) else {
            throw BadField(columnNames[column], String(number).utf8, problem)
        }
        return number
    }

    /// 0 or 1, or JSON's two words.
    func boolean(_ column: Int) throws(BadField) -> Bool? {
        guard let content = try decoded(column) else { return nil }
        for (word, meaning) in [("0", false), ("1", true), ("false", false), ("true", true)]
        where content.elementsEqual(word.utf8) {
            return meaning
        }
        throw BadField(columnNames[column], content, "must be 0 or 1")
    }

    /// RFC 3339.
    func time(_ column: Int) throws(BadField) -> Timestamp? {
        guard let content = try decoded(column) else { return nil }
        let parsed = unsafe content.withUnsafeBufferPointer { unsafe Timestamp(rfc3339: $0) }
        if fields[column].form != .number, let parsed { return parsed }
        let example = "2026-11-20T03:17:04.000Z"
        throw BadField(
            columnNames[column], content,
            content.allSatisfy({ $0.isDigit })
                ? "is a bare number, not a time; write it like \(example)"
                : "is not a time; write it like \(example)")
    }
}

extension UInt8 {
    /// Whether it is a digit in ASCII.
    var isDigit: Bool { (0x30...0x39).contains(self) }

    /// White space of a property list.
    var isSpace: Bool { self == 0x20 || (0x09...0x0D).contains(self) }
}

extension ArraySlice<UInt8> {
    /// Whether it is ASCII without control characters; all bytes are checked, so many are at
    /// once.
    fileprivate var isPrintable: Bool {
        let bytes = span
        var special: UInt8 = 0
        for index in bytes.indices {
            special |= bytes[index] < 0x20 ? 1 : 0
            special |= bytes[index] & 0x80
        }
        return special == 0
    }
}
