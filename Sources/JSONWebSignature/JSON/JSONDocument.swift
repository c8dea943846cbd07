/// A JSON text that has been read strictly; its values are views into the bytes.
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
}
