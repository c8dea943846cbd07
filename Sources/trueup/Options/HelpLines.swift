import Glibc
import Subscriptions

/// The exit statuses as they stand at the end of every help text, from the one table.
package enum ExitStatusHelp {
    package static var text: String {
        let sorted = ExitStatus.allCases.sorted { $0.code < $1.code }
        let nameWidth = sorted.map(\.name.count).max() ?? 0
        let lines = sorted.map { status in
            HelpLines.wrapped(
                status.meaning.split(separator: " ").map(String.init),
                after: "  " + String(status.code).padded(to: 5)
                    + status.name.padded(to: nameWidth + 2))
        }
        return "EXIT STATUS:\n" + lines.joined(separator: "\n")
    }
}

/// Lines of help that fit a terminal.
enum HelpLines {
    private static let columns = 80
    /// The narrowest help that the parser lays out: it ends the process where a column has no room.
    private static let leastColumns = 40

    /// Has the parser lay out no narrower help than it can.
    ///
    /// It takes the width that `COLUMNS` says, or else the terminal's, also where it is only asked which
    /// status an error has.
    static func ensureWidth(in invocation: Invocation) {
        let wished = invocation.environment["COLUMNS"].flatMap { Int($0) }
        guard let columns = wished ?? invocation.outputColumns(), columns < leastColumns else {
            return
        }
        unsafe setenv("COLUMNS", String(leastColumns), 1)
    }

    /// A message of the parser, which writes a usage on one line, however many options it names.
    ///
    /// - Parameter message: A help text, or what is wrong with the arguments.
    /// - Returns: The same words; the usage goes on below its first option.
    static func wrappingUsage(of message: String) -> String {
        message.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            guard let title = ["USAGE: ", "Usage: "].first(where: line.hasPrefix) else {
                return String(line)
            }
            return wrapped(parts(ofUsage: line.dropFirst(title.count)), after: title)
        }.joined(separator: "\n")
    }

    /// Words below each other behind their title.
    static func wrapped(_ words: [String], after title: String) -> String {
        let margin = String(repeating: " ", count: title.count)
        var lines: [String] = []
        var line = title
        var isEmpty = true
        for word in words {
            if !isEmpty, line.count + 1 + word.count > columns {
                lines.append(line)
                line = margin
                isEmpty = true
            }
            line += isEmpty ? word : " " + word
            isEmpty = false
        }
        return (lines + [line]).joined(separator: "\n")
    }

    /// The words; an option in brackets stays with its value.
    private static func parts(ofUsage usage: Substring) -> [String] {
        var parts: [String] = []
        var depth = 0
        for word in usage.split(separator: " ") {
            if depth > 0, let last = parts.popLast() {
                parts.append(last + " " + word)
            } else {
                parts.append(String(word))
            }
            depth += word.count { $0 == "[" } - word.count { $0 == "]" }
        }
        return parts
    }
}
