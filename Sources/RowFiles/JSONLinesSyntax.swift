/// Splits JSON Lines into the values of the known keys, one object a line.
struct JSONLinesSyntax {
    private var nextLine = 1
    private var recordBytes = 0
    /// Which of the schema's columns any line so far has named.
    private(set) var seen = ColumnSet()
    /// Which of them the last line named.
    private(set) var named = ColumnSet()
    /// Names that the mapping knows and some line so far has.
    private(set) var mappedNames: Set<String> = []
    /// Some names that nobody knows, for a suggestion.
    private(set) var unknownNames: [String] = []
    private static let keptUnknownNames = 32

    /// Reads the next object's values into the buffer; `nil` at the end of the file.
    mutating func next(
        _ buffer: inout RecordBuffer
    ) throws(RowFileError) -> Result<Int, BadLine>? {
        buffer.advance(by: recordBytes)
        recordBytes = 0
        guard try buffer.byte(at: 0) != nil else { return nil }
        let line = nextLine
        nextLine += 1
        guard let count = try lineLength(&buffer) else {
            return .failure(
                BadLine(
                    line: line,
                    reason: "is longer than \(buffer.maximumRecordBytes) bytes"))
        }
        for index in buffer.fields.indices { buffer.fields[index] = .absent }
        var scanner = JSONObjectScanner(count: count)
        defer { keep(namesOf: scanner) }
        do throws(BadField) {
            named = try scanner.scan(&buffer)
            seen.formUnion(named)
            return .success(line)
        } catch {
            return .failure(BadLine(line: line, reason: error.reason))
        }
    }

    private mutating func keep(namesOf scanner: JSONObjectScanner) {
        if !scanner.mappedNames.isEmpty { mappedNames.formUnion(scanner.mappedNames) }
        for name in scanner.unknownNames
        where unknownNames.count < Self.keptUnknownNames && !unknownNames.contains(name) {
            unknownNames.append(name)
        }
    }

    /// Bytes of the line without its line feed; `nil` when it is too long and was dropped.
    private mutating func lineLength(_ buffer: inout RecordBuffer) throws(RowFileError) -> Int? {
        let lineFeed = UInt8(ascii: "\n")
        var offset = 0
        while true {
            if let end = buffer.find(lineFeed, from: offset) {
                guard end <= buffer.maximumRecordBytes else {
                    buffer.advance(by: end + 1)
                    return nil
                }
                recordBytes = end + 1
                return end
            }
            offset = buffer.loadedOffset
            guard offset <= buffer.maximumRecordBytes else {
                try buffer.discardLine(from: offset)
                return nil
            }
            guard try buffer.more() else {
                recordBytes = offset
                return offset
            }
        }
    }
}
