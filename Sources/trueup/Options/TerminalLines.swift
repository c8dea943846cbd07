import Glibc
import Subscriptions

/// Lines that are too long for a terminal, broken between words.
///
/// A terminal breaks them anywhere. A command, which is between grave accents, stays whole, so that
/// it can be copied; so does a word that is longer than the terminal is wide.
package enum TerminalLines {
    /// The narrowest terminal for which lines are broken.
    private static let leastColumns = 20

    /// - Parameters:
    ///   - text: Lines, with or without colours.
    ///   - columns: The width of the terminal.
    /// - Returns: The same words; what is broken continues two columns further in than its line
    ///   began.
    package static func fitted(_ text: String, columns: Int) -> String {
        guard columns >= leastColumns else { return text }
        return text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { width(of: $0) > columns ? broken($0, columns) : String($0) }
            .joined(separator: "\n")
    }

    private static func broken(_ line: Substring, _ columns: Int) -> String {
        let indent = line.prefix { $0 == " " }.count
        let margin = String(repeating: " ", count: min(indent + 2, columns / 2))
        var lines = ""
        var used = 0
        for (blanks, word) in words(of: line) {
            let width = width(of: word)
            if used > margin.count, used + blanks.count + width > columns {
                lines += "\n" + margin + word
                used = margin.count + width
            } else {
                lines += blanks + word
                used += blanks.count + width
            }
        }
        return lines
    }

    /// The words of a line, each with the blanks before it.
    private static func words(of line: Substring) -> [(blanks: Substring, word: Substring)] {
        var words: [(Substring, Substring)] = []
        var rest = line
        while !rest.isEmpty {
            let blanks = rest.prefix { $0 == " " }
            let from = blanks.endIndex
            var isCommand = false
            var end = from
            while end < rest.endIndex, isCommand || rest[end] != " " {
                if rest[end] == "`" { isCommand.toggle() }
                end = rest.index(after: end)
            }
            words.append((blanks, rest[from..<end]))
            rest = rest[end...]
        }
        return words
    }

    /// Columns that a text takes; a colour, `ESC [ … m`, takes none.
    private static func width(of text: Substring) -> Int {
        var columns = 0
        var isColour = false
        for character in text {
            if character == "\u{1B}" {
                isColour = true
            } else if isColour {
                isColour = character != "m"
            } else {
                columns += 1
            }
        }
        return columns
    }

    /// Rows with their cells padded to the widest of each column, indented by two.
    static func table(_ rows: [[String]], rightAligned: Set<Int> = []) -> [String] {
        let count = rows.map(\.count).max() ?? 0
        let widths = (0..<count).map { column in
            rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
        }
        return rows.map { row in
            let cells = row.enumerated().map { column, cell in
                cell.padded(to: widths[column], atRight: rightAligned.contains(column))
            }
            let line = "  " + cells.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
    }
}

extension String {
    /// The lines of a text of the program's own.
    var lines: [String] {
        split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    /// In a colour of a terminal, where colours are wanted.
    func painted(_ colour: String, if isColoured: Bool) -> String {
        isColoured ? "\u{1B}[\(colour)m\(self)\u{1B}[0m" : self
    }

    /// With blanks up to a width; a longer text stays whole.
    func padded(to width: Int, atRight: Bool = false) -> String {
        let blanks = String(repeating: " ", count: max(0, width - count))
        return atRight ? blanks + self : self + blanks
    }
}

extension Int {
    /// A number of things in words: `1 row`, `2 rows`.
    func counted(_ noun: String) -> String { "\(self) \(noun)\(self == 1 ? "" : "s")" }
}

/// Where a command writes: standard output or standard error, or memory in a test.
package protocol ByteSink: AnyObject {
    func write(_ bytes: [UInt8]) throws(CommandFailure)

    /// Writes out what is still buffered.
    func flush() throws(CommandFailure)
}

extension ByteSink {
    /// Writes a line of text.
    package func line(_ text: String) throws(CommandFailure) {
        try write(Array((text + "\n").utf8))
    }
}

/// A buffered file descriptor.
package final class DescriptorSink: ByteSink {
    private static let bufferBytes = 1 << 16

    private let descriptor: Int32
    private let name: String
    private var buffer: [UInt8] = []

    /// - Parameters:
    ///   - descriptor: stays open; it belongs to the process.
    ///   - name: for the error.
    package init(descriptor: Int32, name: String) {
        self.descriptor = descriptor
        self.name = name
    }

    package func write(_ bytes: [UInt8]) throws(CommandFailure) {
        buffer.append(contentsOf: bytes)
        if buffer.count >= Self.bufferBytes { try flush() }
    }

    package func flush() throws(CommandFailure) {
        var written = 0
        while written < buffer.count {
            let count = unsafe buffer.withUnsafeBytes { bytes in
                unsafe Glibc.write(
                    descriptor, bytes.baseAddress?.advanced(by: written), bytes.count - written)
            }
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else {
                let code = errno
                buffer.removeAll()
                throw CommandFailure.output(name, errorNumber: code)
            }
            written += count
        }
        buffer.removeAll(keepingCapacity: true)
    }
}

/// Foreign text made safe for a terminal: what moves the cursor, ends a line or reorders letters is
/// spelled out, as `\u{1b}`.
///
/// Everything that a command writes for people goes through here, in `Invocation`: ids of the
/// table, names of files, values of reports, messages of servers.
enum PlainText {
    /// One line: an end of line inside it is spelled out as well.
    static func of(_ text: String) -> String { shown(text, keeping: { _ in false }) }

    /// Lines of a file or of another program, which may be several.
    static func ofLines(_ text: String) -> String { shown(text) { $0 == "\n" } }

    /// One line with the colours that the program itself set; every other sequence is spelled out.
    ///
    /// Foreign values in it were made plain before, so that no colour is theirs.
    static func ofColoured(_ text: String) -> String {
        var output = ""
        var rest = Substring(text)
        while let start = rest.firstIndex(of: "\u{1B}") {
            output += of(String(rest[..<start]))
            let sequence = rest[start...].prefixMatch(of: /\u{1B}\[[0-9;]{1,4}m/)?.output
            output += sequence.map(String.init) ?? of("\u{1B}")
            rest = rest[(sequence?.endIndex ?? rest.index(after: start))...]
        }
        return output + of(String(rest))
    }

    /// JSON, in which everything that is not plain is escaped; the values stay the same.
    static func ofJSON(_ text: String) -> String {
        shown(
            text, keeping: { $0 == "\n" },
            spelling: { scalar in
                let units = UTF16.encode(scalar).map(Array.init) ?? []
                return units.map { unit in
                    let digits = String(unit, radix: 16)
                    return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }.joined()
            })
    }

    private static func shown(
        _ text: String, keeping isKept: (Unicode.Scalar) -> Bool,
        spelling: (Unicode.Scalar) -> String = { "\\u{\(String($0.value, radix: 16))}" }
    ) -> String {
        guard !text.unicodeScalars.allSatisfy({ isPlain($0) || isKept($0) }) else { return text }
        var output = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if isPlain(scalar) || isKept(scalar) {
                output.append(scalar)
            } else {
                output.append(contentsOf: spelling(scalar).unicodeScalars)
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
        // Up to the last line feed, all characters are whole.
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
