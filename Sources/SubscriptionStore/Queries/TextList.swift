/// A list of texts in one column: each on a line of its own.
///
/// Line feeds inside a text become blanks; lists are for names, digests and sentences.
enum TextList {
    private static let lineFeed = UInt8(ascii: "\n")

    static func encode(_ texts: some Sequence<String>) -> String {
        let lines = texts.map { text in
            text.utf8.map { $0 == lineFeed ? UInt8(ascii: " ") : $0 }
        }
        return String(decoding: Array(lines.joined(separator: [lineFeed])), as: UTF8.self)
    }

    static func decode(_ column: String) -> [String] {
        guard !column.isEmpty else { return [] }
        return column.utf8.split(separator: lineFeed, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
    }
}
