import Subscriptions

/// Reading a field as the value that its column needs; an absent or empty one is `nil`.
extension RecordBuffer {
    /// The bytes of a field as they stand in the file.
    func content(of field: RawField) -> ArraySlice<UInt8> {
        bytes[start + field.offset..<start + field.offset + field.count]
    }

    /// The bytes of a field with escapes and doubled quotes resolved.
    func decoded(_ field: RawField) throws(BadField) -> ArraySlice<UInt8> {
        let content = content(of: field)
        switch field.form {
        case .doubledQuotes: return Self.undoubled(content)[...]
        case .escaped: return try JSONEscapes.decoded(content)[...]
        default: return content
        }
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
        guard content.allSatisfy(Self.isDigit) else {
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

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    /// An id of Apple's: one to twenty digits, never through a floating-point number.
    func id(_ column: Int) throws(BadField) -> String? {
        let field = fields[column]
        guard field.form != .absent else { return nil }
        let content = try decoded(field)
        guard !content.isEmpty else { return nil }
        if content.count <= TransactionID.maximumDigits, content.allSatisfy(Self.isDigit),
            field.form != .boolean
        {
            return String(decoding: content, as: UTF8.self)
        }
        throw BadField(columnNames[column], content, Self.problem(ofID: content))
    }

    private static func problem(ofID content: ArraySlice<UInt8>) -> String {
        if content.allSatisfy(isDigit) {
            return "is longer than \(TransactionID.maximumDigits) digits"
        }
        let isNumeric = content.allSatisfy { isDigit($0) || "+-.,eE".utf8.contains($0) }
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
        let field = fields[column]
        guard field.form != .absent else { return nil }
        let content = try decoded(field)
        guard !content.isEmpty else { return nil }
        let digits = content.first == UInt8(ascii: "-") ? content.dropFirst() : content
        guard field.form != .boolean, digits.allSatisfy(Self.isDigit),
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
        let field = fields[column]
        guard field.form != .absent else { return nil }
        let content = try decoded(field)
        if content.isEmpty { return nil }
        for (word, meaning) in [("0", false), ("1", true), ("false", false), ("true", true)]
        where content.elementsEqual(word.utf8) {
            return meaning
        }
        throw BadField(columnNames[column], content, "must be 0 or 1")
    }

    /// RFC 3339.
    func time(_ column: Int) throws(BadField) -> Timestamp? {
        let field = fields[column]
        guard field.form != .absent else { return nil }
        let content = try decoded(field)
        guard !content.isEmpty else { return nil }
        let parsed = unsafe content.withUnsafeBufferPointer { unsafe Timestamp(rfc3339: $0) }
        if field.form != .number, let parsed { return parsed }
        let example = "2026-11-20T03:17:04.000Z"
        throw BadField(
            columnNames[column], content,
            content.allSatisfy(Self.isDigit)
                ? "is a bare number, not a time; write it like \(example)"
                : "is not a time; write it like \(example)")
    }
}

extension ArraySlice<UInt8> {
    /// Whether it is ASCII without control characters; all bytes are looked at, so many are at once.
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
