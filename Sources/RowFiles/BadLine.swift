/// A line that cannot be a row, and why.
package struct BadLine: Error, Hashable, Sendable {
    /// Counted from 1; the first line of a record that spans several.
    package var line: Int
    /// A clause for the person who mends the file; it may quote a short piece of the line.
    package var reason: String

    package init(line: Int, reason: String) {
        self.line = line
        self.reason = reason
    }
}

/// What is wrong with one field, before it is known which line it stands in.
struct BadField: Error {
    let reason: String

    init(_ reason: String) {
        self.reason = reason
    }

    /// Names the column and quotes the value, cut and with nothing that a terminal would obey.
    init(_ column: String, _ value: some Sequence<UInt8>, _ problem: String) {
        reason = "\(column) \(Self.quoted(value)) \(problem)"
    }

    private static let maximumQuotedCharacters = 40

    static func quoted(_ value: some Sequence<UInt8>) -> String {
        let start = Array(value.prefix(maximumQuotedCharacters * 4 + 1))
        let text = String(decoding: start, as: UTF8.self)
        var shown = ""
        for scalar in text.unicodeScalars.prefix(maximumQuotedCharacters) {
            let isPrintable = scalar.value >= 0x20 && !scalar.properties.isControlOrFormat
            shown.unicodeScalars.append(isPrintable ? scalar : "\u{FFFD}")
        }
        let isCut = text.unicodeScalars.count > maximumQuotedCharacters
        return "\"" + shown + (isCut ? "…" : "") + "\""
    }
}

extension Unicode.Scalar.Properties {
    /// Control characters, and those that turn the reading direction or hide themselves.
    fileprivate var isControlOrFormat: Bool {
        generalCategory == .control || generalCategory == .format
            || generalCategory == .lineSeparator || generalCategory == .paragraphSeparator
    }
}
