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
    /// Some unknown names, for a suggestion.
    private(set) var unknownNames: [String] = []
    private static let keptUnknownNames = 32
    /// The last message about unknown names.
    ///
    /// Mostly every line of a file has the same ones, and to look for the nearest known name costs
    /// more than to read the line.
    private var lastMessage: (names: [String], reason: String)?

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
            let columns = try scanner.scan(&buffer)
            if !scanner.unknownNames.isEmpty {
                throw BadField(reason(ofUnknown: scanner.unknownNames, among: buffer.columnNames))
            }
            named = columns
            seen.formUnion(named)
            return .success(line)
        } catch {
            return .failure(BadLine(line: line, reason: error.reason))
        }
    }

    private mutating func reason(ofUnknown names: [String], among columns: [String]) -> String {
        if let lastMessage, lastMessage.names == names { return lastMessage.reason }
        let reason = ColumnMapping.unknown(names, among: columns, called: "key")
        lastMessage = (names, reason)
        return reason
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

/// The escapes of a JSON text (RFC 8259, section 7).
extension RecordBuffer {
    static func unescaped(_ content: ArraySlice<UInt8>) throws(BadField) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(content.count)
        var index = content.startIndex
        while index < content.endIndex {
            let byte = content[index]
            index += 1
            guard byte == UInt8(ascii: "\\") else {
                result.append(byte)
                continue
            }
            guard index < content.endIndex else { throw unknownEscape }
            let escape = content[index]
            index += 1
            if escape == UInt8(ascii: "u") {
                result.append(contentsOf: try scalar(content, &index).utf8)
            } else {
                result.append(try simple(escape))
            }
        }
        return result
    }

    private static var unknownEscape: BadField {
        BadField("is not JSON: an unknown escape in a text")
    }

    private static func simple(_ escape: UInt8) throws(BadField) -> UInt8 {
        switch escape {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return escape
        case UInt8(ascii: "b"): return 0x08
        case UInt8(ascii: "f"): return 0x0C
        case UInt8(ascii: "n"): return 0x0A
        case UInt8(ascii: "r"): return 0x0D
        case UInt8(ascii: "t"): return 0x09
        default: throw unknownEscape
        }
    }

    /// The character of `\uXXXX`, or of two that make a surrogate pair.
    private static func scalar(
        _ content: ArraySlice<UInt8>, _ index: inout Int
    ) throws(BadField) -> Character {
        let first = try hexadecimal(content, &index)
        if let scalar = Unicode.Scalar(first) { return Character(scalar) }
        let half = BadField("is not JSON: half a surrogate pair in a text")
        guard (0xD800...0xDBFF).contains(first), content[index...].starts(with: "\\u".utf8) else {
            throw half
        }
        index += 2
        let second = try hexadecimal(content, &index)
        guard (0xDC00...0xDFFF).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
        else { throw half }
        return Character(scalar)
    }

    private static func hexadecimal(
        _ content: ArraySlice<UInt8>, _ index: inout Int
    ) throws(BadField) -> UInt32 {
        guard content.endIndex - index >= 4 else { throw unknownEscape }
        var value: UInt32 = 0
        for byte in content[index..<index + 4] {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw unknownEscape
            }
            value = value << 4 | UInt32(digit)
        }
        index += 4
        return value
    }
}

/// Reads one flat JSON object (RFC 8259) in a line, as ranges of bytes, without making values.
struct JSONObjectScanner {
    private let count: Int
    private var position = 0
    /// Keys mostly come in the schema's order, so the search begins behind the last one found.
    private var expected = 0
    /// Keys that the mapping knows.
    private(set) var mappedNames: [String] = []
    /// The keys that are not columns; the line is bad for them, but read to its end, so that it is
    /// known which keys the file has.
    private(set) var unknownNames: [String] = []

    /// - Parameter count: bytes of the line, from the record's start.
    init(count: Int) {
        self.count = count
    }

    /// Fills in the buffer's fields and returns the columns that the object names.
    mutating func scan(_ buffer: inout RecordBuffer) throws(BadField) -> ColumnSet {
        skipSpace(buffer)
        guard position < count else { throw BadField("is empty") }
        guard take(UInt8(ascii: "{"), buffer) else {
            throw BadField("is not a JSON object")
        }
        var named = ColumnSet()
        skipSpace(buffer)
        if !take(UInt8(ascii: "}"), buffer) {
            repeat {
                skipSpace(buffer)
                let place = try key(buffer)
                if let place {
                    guard !named.contains(place) else {
                        throw BadField("names \"\(buffer.columnNames[place])\" twice")
                    }
                    named.insert(place)
                }
                skipSpace(buffer)
                guard take(UInt8(ascii: ":"), buffer) else { throw malformed("a colon") }
                skipSpace(buffer)
                if let place {
                    buffer.fields[place] = try value(buffer)
                } else {
                    try skipValue(buffer)
                }
                skipSpace(buffer)
            } while take(UInt8(ascii: ","), buffer)
            guard take(UInt8(ascii: "}"), buffer) else { throw malformed("a comma or }") }
        }
        skipSpace(buffer)
        guard position == count else { throw BadField("has text behind the JSON object") }
        return named
    }

    private func malformed(_ expected: String) -> BadField {
        BadField("is not JSON: expected \(expected) at byte \(position + 1)")
    }

    @inline(__always)
    private func peek(_ buffer: borrowing RecordBuffer) -> UInt8? {
        position < count ? buffer.bytes[buffer.start + position] : nil
    }

    private mutating func take(_ byte: UInt8, _ buffer: borrowing RecordBuffer) -> Bool {
        guard peek(buffer) == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace(_ buffer: borrowing RecordBuffer) {
        while let byte = peek(buffer), byte == 0x20 || byte == 0x09 || byte == 0x0D {
            position += 1
        }
    }

    /// The place of the next key's column; `nil` for one that is not read.
    private mutating func key(_ buffer: borrowing RecordBuffer) throws(BadField) -> Int? {
        guard take(UInt8(ascii: "\""), buffer) else { throw malformed("a key in quotes") }
        let field = try text(buffer)
        guard buffer.mapping.isEmpty else { return try mapped(field, buffer) }
        if expected < buffer.columnNames.count, buffer.isColumn(expected, field) {
            expected += 1
            return expected - 1
        }
        if let place = buffer.columnNames.indices.first(where: { buffer.isColumn($0, field) }) {
            expected = place + 1
            return place
        }
        return try mapped(field, buffer)
    }

    private mutating func mapped(
        _ field: RawField, _ buffer: borrowing RecordBuffer
    ) throws(BadField) -> Int? {
        let name = String(decoding: try buffer.decoded(field), as: UTF8.self)
        if buffer.mapping.names(name) { mappedNames.append(name) }
        switch buffer.mapping.meaning(of: name, among: buffer.columnNames) {
        case .column(let place): return place
        case .ignored: return nil
        case .unknown:
            if !unknownNames.contains(name) { unknownNames.append(name) }
            return nil
        }
    }

    /// Leaves a value behind that no one reads, lists and objects of any depth too.
    private mutating func skipValue(_ buffer: borrowing RecordBuffer) throws(BadField) {
        var depth = 0
        repeat {
            switch peek(buffer) {
            case nil: throw malformed("a value")
            case UInt8(ascii: "\""):
                position += 1
                _ = try text(buffer)
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard depth > 0 else { throw malformed("a value") }
                depth -= 1
                position += 1
            case UInt8(ascii: ","), UInt8(ascii: ":"), 0x20, 0x09, 0x0D:
                guard depth > 0 else { throw malformed("a value") }
                position += 1
            default:
                let field = try value(buffer)
                guard field.form == .absent || field.count > 0 else { throw malformed("a value") }
            }
        } while depth > 0
    }

    /// A JSON text whose opening quote has been read.
    private mutating func text(_ buffer: borrowing RecordBuffer) throws(BadField) -> RawField {
        let begin = position
        var form = RawField.Form.plain
        while position < count {
            position = buffer.findTextEnd(from: position, before: count)
            switch peek(buffer) {
            case nil: break
            case UInt8(ascii: "\""):
                position += 1
                return RawField(offset: begin, count: position - begin - 1, form: form)
            case UInt8(ascii: "\\"):
                form = .escaped
                position += 2
            default: throw BadField("is not JSON: a control character inside a text")
            }
        }
        position = min(position, count)
        throw malformed("a closing quote")
    }

    private mutating func value(_ buffer: borrowing RecordBuffer) throws(BadField) -> RawField {
        switch peek(buffer) {
        case UInt8(ascii: "\""):
            position += 1
            return try text(buffer)
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            throw BadField("holds a list or an object where a single value is expected")
        case nil: throw malformed("a value")
        default: break
        }
        let begin = position
        while let byte = peek(buffer), Self.belongsToWord(byte) { position += 1 }
        var field = RawField(offset: begin, count: position - begin, form: .number)
        let content = buffer.content(of: field)
        if content.elementsEqual("null".utf8) { return .absent }
        if content.elementsEqual("true".utf8) || content.elementsEqual("false".utf8) {
            field.form = .boolean
            return field
        }
        guard Self.isNumber(content) else {
            position = begin
            throw malformed("a value")
        }
        return field
    }

    private static func belongsToWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "+"), UInt8(ascii: "-"),
            UInt8(ascii: "."):
            true
        default: false
        }
    }

    /// Whether it begins as RFC 8259 lets a number begin; its column checks the rest.
    private static func isNumber(_ content: ArraySlice<UInt8>) -> Bool {
        let digits = content.first == UInt8(ascii: "-") ? content.dropFirst() : content
        guard let first = digits.first, first.isDigit else { return false }
        return first != 0x30 || digits.dropFirst().first?.isDigit != true
    }
}
