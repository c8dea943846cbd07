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
