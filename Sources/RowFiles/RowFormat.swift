/// The two forms of a file of rows.
package enum RowFormat: Hashable, Sendable {
    case csv
    case jsonLines

    /// By the ending of the name, else by the first byte: JSON Lines begin with `{`.
    static func of(path: String, firstByte: UInt8?) -> RowFormat {
        let name = path.lowercased()
        if name.hasSuffix(".csv") { return .csv }
        if name.hasSuffix(".jsonl") || name.hasSuffix(".ndjson") { return .jsonLines }
        return firstByte == UInt8(ascii: "{") ? .jsonLines : .csv
    }
}
