import ArgumentParser
import Subscriptions
import TestSupport
import Testing

@testable import trueup

/// `docs/commands.md` against the program.
@Suite struct `The page of commands` {
    private let page: MarkdownPage
    private let commands = TrueUp.configuration.subcommands

    init() throws {
        page = try MarkdownPage("docs/commands.md")
    }

    @Test func `names every command, in the order of the help`() throws {
        let names = commands.map { "trueup \($0._commandName)" }
        let table = try #require(page.table(headed: "command"))
        #expect(table.column("command") == names.map { "`\($0)`" })
        #expect(
            page.headings.filter { $0.hasPrefix("`") }.sorted() == names.map { "`\($0)`" }.sorted())
    }

    @Test func `names every option`() {
        let common = page.section("For every command")
        for command in commands {
            let section = page.section("`trueup \(command._commandName)`")
            #expect(!section.isEmpty, "\(command._commandName)")
            let help = TrueUp.helpMessage(for: command)
            for match in help.matches(of: /(?m)^ {2}(?:-[a-z], )?(--[a-z-]+)/)
            where !["--help", "--version"].contains(match.1) {
                let option = String(match.1)
                #expect(
                    section.contains("`\(option)") || common.contains("`\(option)"),
                    "\(command._commandName) \(option)")
            }
        }
    }

    @Test func `says which exit statuses each command can have`() throws {
        let table = try #require(
            try MarkdownPage("docs/exit-statuses.md").table(headed: "command", "exit statuses"))
        let declared = try commands.map { command in
            let verb = try #require(command as? any Verb.Type)
            let codes = verb.exitStatuses.sorted.map { String($0.code) }
            return ["`\(verb._commandName)`", codes.joined(separator: ", ")]
        }
        #expect(table.rows == declared)
    }

    @Test func `is not needed for a beginning: each help has lines to type, which parse`()
        throws
    {
        #expect(
            Set(TrueUp.examples.keys) == Set(commands.map { $0._commandName }))
        for (name, lines) in TrueUp.examples {
            #expect(lines.count >= 2, "\(name)")
            for line in lines {
                let typed = line.prefix { $0 != ">" }
                // Words, and texts between quotes.
                let words = typed.matches(of: /"([^"]*)"|(\S+)/).map { match in
                    String(match.1 ?? match.2 ?? "")
                }
                #expect(words.first == "trueup" && words.dropFirst().first == name, "\(line)")
                #expect(throws: Never.self, "\(line)") {
                    _ = try TrueUp.parseAsRoot(Array(words.dropFirst()))
                }
            }
        }
    }
}
