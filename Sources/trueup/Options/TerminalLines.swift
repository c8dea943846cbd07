/// Lines that are too long for a terminal, broken between words.
///
/// A terminal breaks them anywhere. A command, which stands between grave accents, stays whole, so that it can
/// be copied; so does a word that is longer than the terminal is wide.
package enum TerminalLines {
    /// The narrowest terminal for which lines are broken.
    private static let leastColumns = 20

    /// - Parameters:
    ///   - text: Lines, with or without colours.
    ///   - columns: The width of the terminal.
    /// - Returns: The same words; what is broken goes on two columns further in than its line began.
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
}
