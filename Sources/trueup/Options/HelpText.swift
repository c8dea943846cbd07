import Glibc
package import Subscriptions

/// The help that a person reads: the parser's text in the order in which it is needed.
///
/// The parser puts the options of every command before a command's own, and knows nothing of exit
/// statuses.
enum HelpText {
    /// The title under which every command has the options of all.
    static let commonTitle = "For every command"

    /// - Parameter help: What the parser says of one command or of the program.
    /// - Returns: The same parts in another order, with examples and exit statuses.
    static func whole(_ help: String) -> String {
        let parts = Part.parts(of: help)
        guard let name = help.firstMatch(of: /USAGE: trueup ([a-z-]+)/)?.1,
            let verb = TrueUp.verb(named: String(name))
        else { return ofProgram(parts) }
        let examples = TrueUp.examples[String(name)].map { lines in
            "EXAMPLES:\n" + lines.map { "  \($0)\n" }.joined() + "\n"
        }
        return ofCommand(parts) + "\n\n" + (examples ?? "") + verb.exitStatuses.help
    }

    /// The text for a person who types the program's name alone.
    static let short = """
        trueup compares your stored App Store subscriptions with what Apple states, and corrects them.

          trueup check JOB   compare, and leave a plan; no row is written
          trueup run JOB     compare, correct, and leave a report
          trueup status      the last runs, open findings and a running job

        Begin with "trueup init". "trueup --help" lists all commands.
        """

    private static func ofCommand(_ parts: [Part]) -> String {
        var (own, common) = (parts, [Part]())
        if let index = own.firstIndex(where: { $0.title == commonTitle.uppercased() }) {
            common = [own.remove(at: index)]
        }
        if let index = own.firstIndex(where: { $0.title == "OPTIONS" }) {
            // Every command has these two as well.
            let shared = own[index].entries.filter(isShared)
            own[index].entries.removeAll(where: isShared)
            var options = own.remove(at: index)
            if common.isEmpty {
                options.entries += shared
            } else {
                common[0].entries += shared
            }
            let place = own.firstIndex { $0.title == "ARGUMENTS" }.map { $0 + 1 } ?? 1
            if !options.entries.isEmpty { own.insert(options, at: min(place, own.count)) }
        }
        return (own + common).map(\.text).joined(separator: "\n\n")
    }

    private static func isShared(_ entry: [Substring]) -> Bool {
        entry.first.map { $0.hasPrefix("  --version") || $0.hasPrefix("  -h, --help") } ?? false
    }

    private static func ofProgram(_ parts: [Part]) -> String {
        var groups = parts.filter { $0.title.hasSuffix(Part.groupMark) }
        let others = parts.filter { !$0.title.hasSuffix(Part.groupMark) }
        let mostUsed = TrueUp.mostUsed.compactMap { name in
            groups.flatMap(\.entries).first { entry in
                entry.first?.dropFirst(2).prefix { $0.isLetter } ?? "" == name
            }
        }
        for index in groups.indices {
            groups[index].title = String(groups[index].title.dropLast(Part.groupMark.count))
        }
        let first = Part(title: "MOST USED", entries: mostUsed)
        let intro = others.filter(\.title.isEmpty)
        let options = others.filter { !$0.title.isEmpty }
        let end = """
            "trueup help COMMAND" explains a command, "trueup help exit-statuses" what each exit
            status means.
            """
        return ((intro + [first] + groups + options).map(\.text) + [end])
            .joined(separator: "\n\n")
    }

    /// A title in capitals with the entries below it, or what is before the first title.
    private struct Part {
        /// The text that the parser adds to the title of a group of commands.
        static let groupMark = " SUBCOMMANDS"

        var title: String
        /// Lines; an entry begins with two blanks.
        var entries: [[Substring]]

        var text: String {
            let lines = entries.flatMap(\.self).map(String.init)
            return ((title.isEmpty ? [] : [title + ":"]) + lines).joined(separator: "\n")
        }

        static func parts(of help: String) -> [Part] {
            var parts = [Part(title: "", entries: [])]
            for line in help.split(separator: "\n", omittingEmptySubsequences: false) {
                // The last line, which the program's own replaces.
                if line.hasPrefix("  See 'trueup help") { continue }
                if let match = line.wholeMatch(of: /([A-Z][A-Z ]*):/) {
                    parts.append(Part(title: String(match.1), entries: []))
                } else {
                    parts[parts.count - 1].add(line)
                }
            }
            for index in parts.indices { parts[index].dropEmptyEnd() }
            return parts
        }

        private mutating func add(_ line: Substring) {
            let begins = line.hasPrefix("  ") && !line.hasPrefix("   ")
            if begins || entries.isEmpty {
                entries.append([line])
            } else {
                entries[entries.count - 1].append(line)
            }
        }

        private mutating func dropEmptyEnd() {
            while var last = entries.popLast() {
                while last.last?.isEmpty == true { last.removeLast() }
                guard last.isEmpty else { return entries.append(last) }
            }
        }
    }
}

/// Lines of help that fit a terminal.
extension HelpText {
    private static let columns = 80
    /// The narrowest help that the parser lays out: it ends the process where a column has no room.
    private static let leastColumns = 40

    /// Has the parser lay out no narrower help than it can.
    ///
    /// It takes the width that `COLUMNS` says, or else the terminal's, also where it is only asked
    /// which status an error has.
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
    /// - Returns: The same words; the usage continues below its first option.
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

/// The exit statuses that a command can have, each with when.
package struct CommandStatuses: Sendable {
    package private(set) var meanings: [ExitStatus: String]

    /// - Parameters:
    ///   - groups: Statuses that several commands share.
    ///   - own: Statuses with what they mean for this command.
    init(_ groups: [[ExitStatus]], _ own: [ExitStatus: String] = [:]) {
        let statuses = Set(groups.flatMap(\.self))
        // Only what makes calls can end because of Apple.
        let asksApple = statuses.contains(.denied)
        meanings = own
        for status in statuses where own[status] == nil {
            let special = asksApple ? nil : Self.meaningsWithoutApple[status]
            meanings[status] = special ?? status.meaning
        }
    }

    private static let meaningsWithoutApple: [ExitStatus: String] = [
        .unavailable: "the database cannot be opened",
        .busy: "a run is active, or another program keeps the database locked",
        .config: "the settings are wrong, or the database is of a newer version",
    ]

    /// In the order of their codes.
    package var sorted: [ExitStatus] { meanings.keys.sorted { $0.code < $1.code } }

    /// The statuses of any command that writes to standard output.
    static let anyCommand: [ExitStatus] = [.usage, .output]
    /// The statuses of a command that reads the settings and the database.
    static let database = anyCommand + [.config, .unavailable, .busy]
    /// The statuses of a run before and while it asks Apple.
    static let run =
        database + [
            .incomplete, .data, .cannotCreate, .protocol, .denied, .hungUp, .interrupted,
            .terminated,
        ]
    /// The statuses of a command that gives a running job an order.
    static let ofOrders = CommandStatuses(
        [anyCommand, [.config, .busy]],
        [
            .ok: "the job has the order, or had it before",
            .empty: "no run of that job is active",
            .busy: "the active run does not say yet which job it is; try again",
        ])
}

/// The exit statuses at the end of the help texts, from the one table.
extension CommandStatuses {
    /// The section about all of them.
    package static var helpOfAll: String {
        section(ExitStatus.allCases.sorted { $0.code < $1.code }.map { ($0, $0.meaning) })
    }

    /// The section about those of one command.
    var help: String {
        Self.section(sorted.map { ($0, meanings[$0] ?? $0.meaning) }) + """

              1 and 70 are faults of trueup. "trueup help exit-statuses" has all of them.
            """
    }

    private static func section(_ statuses: [(ExitStatus, String)]) -> String {
        let nameWidth = ExitStatus.allCases.map(\.name.count).max() ?? 0
        let lines = statuses.map { status, meaning in
            HelpText.wrapped(
                meaning.split(separator: " ").map(String.init),
                after: "  " + String(status.code).padded(to: 5)
                    + status.name.padded(to: nameWidth + 2))
        }
        return "EXIT STATUS:\n" + lines.joined(separator: "\n")
    }
}
