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
    /// What names of the file mean that are not the schema's.
    let mapping: ColumnMapping
    /// Longer records are bad lines.
    let maximumRecordBytes: Int

    init(
        file: consuming InputFile, columnNames: [String],
        mapping: ColumnMapping = ColumnMapping(), maximumRecordBytes: Int = usualRecordBytes
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

    /// The same file from its beginning, copied to where it can be read twice.
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
        case (0x1F, 0x8B):
            throw RowFileError.notText(
                file: fileName,
                reason: "is compressed; use: gzip -dc \(fileName) | trueup import -")
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

    /// The offset of the first comma, line feed or quote in memory from `offset` on.
    func findSeparatorOrQuote(from offset: Int) -> Int? {
        var position = start + offset
        while position < filled {
            switch bytes[position] {
            case UInt8(ascii: ","), UInt8(ascii: "\n"), UInt8(ascii: "\""): return position - start
            default: position += 1
            }
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

/// Where a value stands in the record, and how to read it.
struct RawField {
    enum Form {
        case absent
        /// The bytes as they stand.
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

/// A set of a schema's columns, small enough to be made anew for every line.
package struct ColumnSet: Hashable, Sendable {
    /// The first column is the lowest bit.
    package private(set) var bits: UInt64 = 0

    func contains(_ column: Int) -> Bool { bits & (1 << UInt64(column)) != 0 }

    mutating func insert(_ column: Int) { bits |= 1 << UInt64(column) }

    mutating func formUnion(_ other: ColumnSet) { bits |= other.bits }

    var columns: [Int] { (0..<UInt64.bitWidth).filter(contains) }
}
