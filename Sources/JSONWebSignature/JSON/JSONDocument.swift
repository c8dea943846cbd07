/// A JSON text, parsed strictly; its values are views into the bytes.
package final class JSONDocument: Sendable {
    let bytes: [UInt8]
    let nodes: [JSONNode]

    /// - Parameter bytes: One JSON text in UTF-8.
    /// - Throws: `.format`, also when the text is nested deeper than `JWSLimits.jsonDepth`.
    package init(_ bytes: [UInt8]) throws(JSONWebSignatureError) {
        self.bytes = bytes
        var scanner = JSONScanner(bytes: bytes)
        self.nodes = try scanner.nodesOfWholeText()
    }

    package var root: JSONValue { JSONValue(document: self, index: 0) }

    /// Whether a node is exactly the given text, escapes resolved.
    ///
    /// Every member is looked up by name, so a plain text is compared without a copy.
    func isText(_ expected: String, at index: Int) -> Bool {
        let node = nodes[index]
        guard node.kind == .text else {
            return JSONValue(document: self, index: index).textBytes?.elementsEqual(expected.utf8)
                ?? false
        }
        let expected = expected.utf8Span.span
        let start = Int(node.start)
        guard expected.count == Int(node.end) - start else { return false }
        let text = bytes
        for index in expected.indices where text[start + index] != expected[index] {
            return false
        }
        return true
    }
}

/// One value of a JSON text: its position in the bytes, and the index of the next sibling.
struct JSONNode: Sendable {
    enum Kind: UInt8, Sendable {
        case null, `true`, `false`, number, text, escapedText, array, object
    }

    var kind: Kind
    /// First byte; for texts the one after the quote.
    var start: Int32
    /// One past the last byte; for texts the closing quote.
    var end: Int32
    /// Index of the node after this one and everything inside it.
    var next: Int32
}

/// The members of one JSON object, taken by name, each once.
///
/// Senders keep an order, and readers ask in it, so the search continues behind the member taken
/// last: a look-up is nearly always one comparison.
package struct JSONMembers: Sendable {
    private let document: JSONDocument
    /// The position of each member's name among the nodes; its value is the node behind.
    private var names: [Int32] = []
    private var isTaken: [Bool] = []
    /// The names that were taken, among the nodes.
    private var taken: [Int32] = []
    private var next = 0

    /// `nil` when the value is not an object.
    package init?(_ object: JSONValue) {
        guard object.isObject else { return nil }
        document = object.document
        let nodes = document.nodes
        var name = object.index + 1
        let end = Int(nodes[object.index].next)
        while name < end {
            names.append(Int32(truncatingIfNeeded: name))
            name = Int(nodes[name + 1].next)
        }
        isTaken = [Bool](repeating: false, count: names.count)
        taken.reserveCapacity(names.count)
    }

    /// The first member of this name that was not taken; `nil` when there is none.
    ///
    /// - Parameter name: The name, escapes resolved.
    /// - Returns: Its value.
    package mutating func take(_ name: String) -> JSONValue? {
        for offset in names.indices {
            var index = next + offset
            if index >= names.count { index -= names.count }
            let node = Int(names[index])
            guard !isTaken[index], document.isText(name, at: node) else { continue }
            isTaken[index] = true
            taken.append(names[index])
            next = index + 1 == names.count ? 0 : index + 1
            return JSONValue(document: document, index: node + 1)
        }
        return nil
    }

    /// The names of the members that were not taken, in their order.
    package var untakenNames: [JSONValue] {
        names.indices.filter { !isTaken[$0] }
            .map { JSONValue(document: document, index: Int(names[$0])) }
    }

    /// Whether a member of this name was taken.
    package func hasTaken(_ name: String) -> Bool {
        taken.contains { document.isText(name, at: Int($0)) }
    }

    /// Takes every member that is left.
    package mutating func takeAll() {
        isTaken = [Bool](repeating: true, count: names.count)
    }
}

/// Parses one JSON text of RFC 8259 strictly: UTF-8 without a byte order mark, no comments, no
/// trailing commas, no unescaped control characters, only complete escapes and surrogate pairs.
///
/// Iterative with a depth limit, so that no input overflows the stack.
struct JSONScanner {
    private let bytes: [UInt8]
    private var position = 0
    private var nodes: [JSONNode] = []
    private var open: [Int] = []

    init(bytes: [UInt8]) {
        self.bytes = bytes
        nodes.reserveCapacity(96)
    }

    mutating func nodesOfWholeText() throws(JSONWebSignatureError) -> [JSONNode] {
        guard bytes.count < Int(Int32.max) else { throw fault("is too long") }
        while true {
            skipSpace()
            let opened = try scanValue()
            if opened, try !closeIfEmpty() {
                try scanNameIfObject()
                continue
            }
            if try !advanceAfterValue() { return nodes }
        }
    }

    /// Scans a scalar and returns `false`, or opens a container and returns `true`.
    private mutating func scanValue() throws(JSONWebSignatureError) -> Bool {
        guard let byte = peek() else { throw fault("ends where a value should be") }
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard open.count < JWSLimits.jsonDepth else { throw fault("is nested too deeply") }
            open.append(nodes.count)
            append(byte == UInt8(ascii: "{") ? .object : .array, from: position, to: position)
            position += 1
            return true
        case UInt8(ascii: "\""): try scanText()
        case UInt8(ascii: "t"): try scanLiteral("true", as: .true)
        case UInt8(ascii: "f"): try scanLiteral("false", as: .false)
        case UInt8(ascii: "n"): try scanLiteral("null", as: .null)
        default: try scanNumber()
        }
        return false
    }

    /// Moves to the next value after a comma and returns `true`, or returns `false` at the end.
    private mutating func advanceAfterValue() throws(JSONWebSignatureError) -> Bool {
        while let container = open.last {
            skipSpace()
            guard let byte = peek() else { throw fault("ends inside a container") }
            let isObject = nodes[container].kind == .object
            if byte == UInt8(ascii: ",") {
                position += 1
                try scanNameIfObject()
                return true
            }
            guard byte == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                throw fault("has something other than a comma after a value")
            }
            close(container)
        }
        skipSpace()
        guard position == bytes.count else { throw fault("continues after its value") }
        return false
    }

    private mutating func closeIfEmpty() throws(JSONWebSignatureError) -> Bool {
        guard let container = open.last else { return false }
        skipSpace()
        let end =
            nodes[container].kind == .object ? UInt8(ascii: "}") : UInt8(ascii: "]")
        guard peek() == end else { return false }
        close(container)
        return true
    }

    private mutating func close(_ container: Int) {
        position += 1
        nodes[container].end = Int32(position)
        nodes[container].next = Int32(nodes.count)
        open.removeLast()
    }

    private mutating func scanNameIfObject() throws(JSONWebSignatureError) {
        guard let container = open.last, nodes[container].kind == .object else { return }
        skipSpace()
        guard peek() == UInt8(ascii: "\"") else { throw fault("has a member without a name") }
        try scanText()
        skipSpace()
        guard peek() == UInt8(ascii: ":") else { throw fault("has a name without a colon") }
        position += 1
    }

    private mutating func scanText() throws(JSONWebSignatureError) {
        position += 1
        let start = position
        var isEscaped = false
        var isASCII = true
        while true {
            position = ByteScan.endOfPlainText(in: bytes, from: position)
            guard let byte = peek() else { throw fault("ends inside a text") }
            switch byte {
            case UInt8(ascii: "\""):
                if !isASCII { try checkUTF8(start..<position) }
                append(isEscaped ? .escapedText : .text, from: start, to: position)
                position += 1
                return
            case UInt8(ascii: "\\"):
                isEscaped = true
                position = try JSONEscape.end(of: position, in: bytes)
            case 0x80...:
                isASCII = false
                position += 1
            default: throw fault("has a control character in a text")
            }
        }
    }

    private func checkUTF8(_ range: Range<Int>) throws(JSONWebSignatureError) {
        let span = bytes.span.extracting(range)
        do {
            _ = try UTF8Span(validating: span)
        } catch {
            throw fault("is not UTF-8")
        }
    }

    private mutating func scanLiteral(
        _ literal: StaticString, as kind: JSONNode.Kind
    ) throws(JSONWebSignatureError) {
        let end = position + literal.utf8CodeUnitCount
        guard end <= bytes.count, bytes[position..<end].elementsEqual(literal.description.utf8)
        else { throw fault("has an unknown word") }
        append(kind, from: position, to: end)
        position = end
    }

    private mutating func scanNumber() throws(JSONWebSignatureError) {
        let start = position
        if peek() == UInt8(ascii: "-") { position += 1 }
        let integerStart = position
        let integerDigits = skipDigits()
        guard integerDigits > 0,
            integerDigits == 1 || bytes[integerStart] != UInt8(ascii: "0")
        else { throw fault("has something that is not a value") }
        if peek() == UInt8(ascii: ".") {
            position += 1
            guard skipDigits() > 0 else { throw fault("has a number that ends in a point") }
        }
        if peek() == UInt8(ascii: "e") || peek() == UInt8(ascii: "E") {
            position += 1
            if peek() == UInt8(ascii: "+") || peek() == UInt8(ascii: "-") { position += 1 }
            guard skipDigits() > 0 else { throw fault("has a number without its exponent") }
        }
        append(.number, from: start, to: position)
    }

    private mutating func skipDigits() -> Int {
        let start = position
        while let byte = peek(), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
            position += 1
        }
        return position - start
    }

    private mutating func skipSpace() {
        while let byte = peek(), byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
            position += 1
        }
    }

    private func peek() -> UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func append(_ kind: JSONNode.Kind, from start: Int, to end: Int) {
        nodes.append(
            JSONNode(
                kind: kind, start: Int32(start), end: Int32(end), next: Int32(nodes.count + 1)))
    }

    private func fault(_ what: String) -> JSONWebSignatureError {
        JSONWebSignatureError(.format, "the JSON text \(what) (byte \(position))")
    }
}

/// The escapes of JSON texts (RFC 8259, section 7).
enum JSONEscape {
    /// Where the escape that begins with the backslash at `position` ends.
    ///
    /// A surrogate must be part of a pair; a lone one has no UTF-8 form.
    static func end(of position: Int, in bytes: [UInt8]) throws(JSONWebSignatureError) -> Int {
        guard position + 1 < bytes.count else { throw fault(position) }
        guard bytes[position + 1] == UInt8(ascii: "u") else {
            guard simple(bytes[position + 1]) != nil else { throw fault(position) }
            return position + 2
        }
        guard let unit = unit(at: position, in: bytes) else { throw fault(position) }
        switch unit {
        case 0xDC00...0xDFFF: throw fault(position)
        case 0xD800...0xDBFF:
            guard let low = self.unit(at: position + 6, in: bytes), (0xDC00...0xDFFF).contains(low)
            else { throw fault(position) }
            return position + 12
        default: return position + 6
        }
    }

    /// The UTF-8 of a text that the scanner has accepted.
    static func unescaped(_ text: ArraySlice<UInt8>, in bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(text.count)
        var position = text.startIndex
        while position < text.endIndex {
            guard bytes[position] == UInt8(ascii: "\\"), position + 1 < bytes.count else {
                output.append(bytes[position])
                position += 1
                continue
            }
            if let byte = simple(bytes[position + 1]) {
                output.append(byte)
                position += 2
                continue
            }
            guard let high = unit(at: position, in: bytes) else { return output }
            position += 6
            var scalar = UInt32(high)
            if (0xD800...0xDBFF).contains(high), let low = unit(at: position, in: bytes) {
                scalar = 0x10000 + (UInt32(high - 0xD800) << 10 | UInt32(low &- 0xDC00))
                position += 6
            }
            output.append(contentsOf: Unicode.Scalar(scalar).map { Array(String($0).utf8) } ?? [])
        }
        return output
    }

    private static func simple(_ letter: UInt8) -> UInt8? {
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): letter
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: nil
        }
    }

    /// The UTF-16 unit of the `\uXXXX` at `position`.
    private static func unit(at position: Int, in bytes: [UInt8]) -> UInt16? {
        guard position + 6 <= bytes.count, bytes[position] == UInt8(ascii: "\\"),
            bytes[position + 1] == UInt8(ascii: "u")
        else { return nil }
        var unit: UInt16 = 0
        for byte in bytes[position + 2..<position + 6] {
            guard let digit = hexadecimalValue(byte) else { return nil }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }

    private static func hexadecimalValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    private static func fault(_ position: Int) -> JSONWebSignatureError {
        JSONWebSignatureError(.format, "the JSON text has a broken escape (byte \(position))")
    }
}
