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
                throw fault("has something else than a comma after a value")
            }
            close(container)
        }
        skipSpace()
        guard position == bytes.count else { throw fault("goes on after its value") }
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
