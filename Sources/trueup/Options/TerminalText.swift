/// Foreign text made safe for a terminal: what moves the cursor, ends a line or reorders letters is
/// spelled out, as `\u{1b}`.
///
/// Everything that a command writes for people goes through here, in `Invocation`: ids of the table,
/// names of files, values of reports, messages of servers.
enum PlainText {
    /// One line: an end of line inside it is spelled out, too.
    static func of(_ text: String) -> String { shown(text, keeping: { _ in false }) }

    /// Lines of the program's own making; foreign values in them were made plain before.
    static func ofLines(_ text: String) -> String { shown(text) { $0 == "\n" } }

    /// Lines with the colours that the program itself set; every other sequence is spelled out.
    ///
    /// Foreign values in them were made plain before, so that no colour is theirs.
    static func ofColouredLines(_ text: String) -> String {
        var output = ""
        var rest = Substring(text)
        while let start = rest.firstIndex(of: "\u{1B}") {
            output += ofLines(String(rest[..<start]))
            let sequence = rest[start...].prefixMatch(of: /\u{1B}\[[0-9;]{1,4}m/)?.output
            output += sequence.map(String.init) ?? of("\u{1B}")
            rest = rest[(sequence?.endIndex ?? rest.index(after: start))...]
        }
        return output + ofLines(String(rest))
    }

    /// JSON, in which everything that is not plain is escaped; the values stay the same.
    static func ofJSON(_ text: String) -> String {
        guard !text.unicodeScalars.allSatisfy({ isPlain($0) || $0 == "\n" }) else { return text }
        var output = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            guard !isPlain(scalar), scalar != "\n" else {
                output.append(scalar)
                continue
            }
            for unit in UTF16.encode(scalar).map(Array.init) ?? [] {
                let digits = String(unit, radix: 16)
                let zeros = String(repeating: "0", count: 4 - digits.count)
                output.append(contentsOf: "\\u\(zeros)\(digits)".unicodeScalars)
            }
        }
        return String(output)
    }

    private static func shown(
        _ text: String, keeping isKept: (Unicode.Scalar) -> Bool
    ) -> String {
        guard !text.unicodeScalars.allSatisfy({ isPlain($0) || isKept($0) }) else { return text }
        var output = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if isPlain(scalar) || isKept(scalar) {
                output.append(scalar)
            } else {
                output.append(
                    contentsOf: "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars)
            }
        }
        return String(output)
    }

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        if (0x20...0x7E).contains(scalar.value) { return true }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate,
            .unassigned:
            return false
        default: return true
        }
    }
}

/// Files and exported rows on their way to a terminal; elsewhere they are written as they are.
///
/// Bytes come in pieces that may end inside a character.
final class TerminalFilter: ByteSink {
    private let sink: any ByteSink
    private var rest: [UInt8] = []

    init(_ sink: any ByteSink) { self.sink = sink }

    func write(_ bytes: [UInt8]) throws(CommandFailure) {
        rest += bytes
        // Up to the last line feed, whole characters stand.
        guard let end = rest.lastIndex(of: 0x0A) else { return }
        try writeOut(rest[...end])
        rest.removeSubrange(...end)
    }

    func flush() throws(CommandFailure) {
        if !rest.isEmpty { try writeOut(rest[...]) }
        rest = []
        try sink.flush()
    }

    private func writeOut(_ bytes: ArraySlice<UInt8>) throws(CommandFailure) {
        let text = String(decoding: bytes, as: UTF8.self).replacing("\r\n", with: "\n")
        try sink.write(Array(PlainText.ofLines(text).utf8))
    }
}
