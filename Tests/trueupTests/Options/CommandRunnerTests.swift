import ArgumentParser
import Foundation
import RowFiles
import SubscriptionStore
import Subscriptions
import Testing
import trueup

@Suite struct `The command line` {
    let workplace: Workplace

    init() throws { workplace = try Workplace() }

    static let verbs = TrueUp.configuration.subcommands.map {
        $0.configuration.commandName ?? String(describing: $0).lowercased()
    }

    @Test(arguments: verbs)
    func `explains itself and ends every help with the exit statuses of the command`(
        verb: String
    ) async throws {
        let statuses = try #require(TrueUp.verb(named: verb)).exitStatuses
        for arguments in [[verb, "--help"], ["help", verb]] {
            let outcome = await workplace.run(arguments)
            #expect(outcome.status == .ok)
            #expect(outcome.output.hasPrefix("OVERVIEW: "))
            #expect(outcome.diagnostics.isEmpty)
            let parts = outcome.output.split(separator: "EXIT STATUS:\n")
            let end = try #require(parts.last)
            #expect(parts.count == 2)
            let codes = end.matches(of: /(?m)^  (\d+) {2,}/).compactMap { Int32($0.1) }
            #expect(codes == statuses.sorted.map(\.code))
            #expect(end.contains("\"trueup help exit-statuses\" has all of them."))
            // The rest is as wide as the terminal.
            let usage = outcome.output.firstMatch(of: /USAGE: (?:.|\n)*?\n\n/)?.0 ?? ""
            #expect(usage.contains("trueup"))
            for line in usage.split(separator: "\n") + end.split(separator: "\n") {
                #expect(line.count <= 80, "\(line)")
            }
        }
    }

    @Test(arguments: verbs)
    func `names the options of a command before those of every command`(verb: String) async throws {
        let help = await workplace.run("help", verb).output
        let common = try #require(help.range(of: "\nFOR EVERY COMMAND:\n"))
        for title in ["\nARGUMENTS:\n", "\nOPTIONS:\n", "\nGUARDS:\n"] {
            if let own = help.range(of: title) { #expect(own.lowerBound < common.lowerBound) }
        }
        let shared = help[common.lowerBound...]
        for option in ["-c, --config", "--json", "-q, --quiet", "-v, --verbose", "-h, --help"] {
            #expect(shared.contains("\n  \(option)"), "\(option)")
        }
    }

    @Test func `lists the commands in six groups, the three most used ones first`() async throws {
        let help = await workplace.run("--help").output
        let titles = help.matches(of: /(?m)^([A-Z][A-Z ]*):$/).map { String($0.1) }
        #expect(
            titles == [
                "MOST USED", "SET UP", "RUN", "LOOK", "CONTROL", "PROVE", "INTEGRATE", "OPTIONS",
            ])
        let names = help.matches(of: /(?m)^  ([a-z][a-z-]*)(?:, [a-z][a-z-]*)* +\S/)
            .map { String($0.1) }
        #expect(Array(names.prefix(3)) == ["check", "run", "status"])
        #expect(Set(names) == Set(Self.verbs + ["help"]).subtracting(["help"]))
        #expect(names.count == Self.verbs.count + 3)
    }

    @Test func `has one page with every exit status`() async {
        for name in ["exit-statuses", "exit-status"] {
            let outcome = await workplace.run("help", name)
            #expect(outcome.status == .ok)
            #expect(outcome.output == CommandStatuses.helpOfAll + "\n")
        }
    }

    @Test func `alone prints a short help and is no success`() async {
        let outcome = await workplace.run([])
        #expect(outcome.status == .usage)
        #expect(outcome.output.isEmpty)
        for word in ["trueup check JOB", "trueup run JOB", "trueup status", "trueup --help"] {
            #expect(outcome.diagnostics.contains(word), "\(outcome.diagnostics)")
        }
    }

    @Test(arguments: verbs)
    func `begins each abstract with a verb in the imperative`(verb: String) throws {
        let command = try #require(TrueUp.verb(named: verb))
        let first = try #require(command.configuration.abstract.split(separator: " ").first)
        #expect(first.first?.isUppercase == true && !first.hasSuffix("s"), "\(first)")
    }

    @Test func `takes plan for check`() async throws {
        let parsed = try TrueUp.parseAsRoot(["plan", "nightly", "--limit", "3"])
        #expect((parsed as? Check)?.options.limit == 3)
    }

    @Test(arguments: [["undo", "latest"], ["erase", "customer-1"]])
    func `does not both write and only say what it would write`(command: [String]) async {
        let outcome = await workplace.run(command + ["--execute", "--dry-run"])
        #expect(outcome.status == .usage)
        #expect(outcome.diagnostics.contains("contradict each other"))
    }

    @Test(arguments: [["erase", "--execute"], ["erase"], ["explain"]], ["", " \t"])
    func `does not take an empty name for a customer`(command: [String], name: String) async {
        let outcome = await workplace.run(command + ["--", name])
        #expect(outcome.status == .usage)
        #expect(outcome.output.isEmpty)
        #expect(outcome.diagnostics.contains("is empty"), "\(outcome.diagnostics)")
    }

    @Test func `says that payloads of rows that are gone may still be stored`() async throws {
        let place = try await Workplace().initialised()
        let outcome = await place.run("erase", "customer-1")
        #expect(outcome.status == .empty)
        #expect(outcome.output.contains("may still be stored"), "\(outcome.output)")
    }

    @Test(arguments: ["0", "abc", "-1"])
    func `says what a rate is where one is none`(rate: String) async {
        let outcome = await workplace.run(["throttle", "nightly", "--", rate])
        #expect(outcome.status == .usage)
        #expect(outcome.diagnostics.contains("0.01"), "\(outcome.diagnostics)")
        #expect(outcome.diagnostics.contains("off"), "\(outcome.diagnostics)")
    }

    @Test func `lists every exit status with its name in the help`() {
        let text = CommandStatuses.helpOfAll.split(whereSeparator: \.isWhitespace)
            .joined(separator: " ")
        for status in Subscriptions.ExitStatus.allCases {
            #expect(text.contains(" \(status.code) \(status.name) \(status.meaning)"))
        }
    }

    @Test func `help of a command that there is not is refused, with the nearest one`() async {
        let outcome = await workplace.run("help", "statis")
        #expect(outcome.status == .usage)
        #expect(outcome.output.isEmpty)
        #expect(outcome.diagnostics.contains("did you mean \"status\"?"), "\(outcome.diagnostics)")
    }

    @Test func `tells its version`() async {
        let outcome = await workplace.run(["--version"])
        #expect(outcome.status == .ok)
        #expect(outcome.output == ToolVersion.current + "\n")
    }

    @Test(arguments: [["--version", "--json"], ["--json", "--version"]])
    func `tells version and commit as JSON`(arguments: [String]) async {
        let outcome = await workplace.run(arguments)
        #expect(outcome.status == .ok)
        // Only a release names its commit.
        #expect(outcome.output == #"{"commit":null,"version":"\#(ToolVersion.current)"}"# + "\n")
    }

    @Test(arguments: [
        ["frobnicate"], ["init", "--jsn"], ["import"], ["import", "a", "b"],
        ["status", "--quiet", "--verbose"], ["status", "--color", "pink"],
        ["import", "a", "--transactions", "--notifications"], ["status", "--log-format", "xml"],
    ])
    func `ends with 64 for bad arguments`(arguments: [String]) async {
        let outcome = await workplace.run(arguments)
        #expect(outcome.status == .usage)
        #expect(outcome.output.isEmpty)
        #expect(outcome.diagnostics.contains("Error: "))
        let json = await workplace.run(arguments + ["--json"])
        #expect(json.status == .usage)
        #expect(json.diagnostics.hasPrefix("{\"error\":"))
        #expect(json.diagnostics.contains("\"exit_status\":64"))
    }

    @Test func `ends with 78 for settings and names the place, for people and machines`()
        async throws
    {
        _ = try workplace.folder.write("apps: []\n", to: "trueup.yaml")
        let outcome = await workplace.run(["status"])
        #expect(outcome.status == .config)
        #expect(outcome.diagnostics == "error: \(workplace.settings):1: apps: is an empty list\n")
        let json = await workplace.run(["status", "--json"])
        #expect(json.diagnostics.contains("\"line\":1"))
        #expect(json.diagnostics.contains("\"key\":\"apps\""))
        #expect(json.diagnostics.contains("\"name\":\"config\""))
    }

    @Test func `maps every kind of error to its status`() {
        let cases: [(any Error, Subscriptions.ExitStatus)] = [
            (ConfigurationError(file: "f", problem: "p"), .config),
            (ConfigurationError(file: "f", problem: "p", status: .denied), .denied),
            (CommandFailure(.stale, "x"), .stale), (RowFileError.empty(file: "f"), .data),
            (StoreError.unavailable("x"), .unavailable), (StoreError.notWritten("x"), .output),
            (StoreError.busy("x"), .busy), (StoreError.schema("x"), .config),
            (StoreError.inconsistent("x"), .internal),
            (RunLockError.held(by: "x", since: nil), .busy),
            (RunLockError.cannotLock("x"), .output), (RunLockError.noFolder("x"), .unavailable),
            (RunStop.denied("x"), .denied),
            (RunStop.misconfigured("x"), .config), (RunStop.store(.busy("x")), .busy),
            (RunStop.quotaWaitPastDeadline(until: Timestamp(unixMilliseconds: 0)), .busy),
            (RunStop.deadlineReached, .incomplete), (RunStop.cancelled, .terminated),
            (CancellationError(), .terminated),
            (Strange(), .failure),
        ]
        for (error, status) in cases {
            let report = ErrorReport(error)
            #expect(report.status == status, "\(error)")
            #expect(!report.message.isEmpty)
        }
    }

    private struct Strange: Error {}

    @Test(arguments: [
        (ColorChoice.auto, true, [:], true), (.auto, false, [:], false),
        (.auto, true, ["NO_COLOR": "1"], false), (.auto, true, ["NO_COLOR": ""], true),
        (.auto, true, ["TERM": "dumb"], false), (.always, false, ["NO_COLOR": "1"], true),
        (.never, true, [:], false),
    ])
    func `colours as asked`(
        choice: ColorChoice, isTerminal: Bool, environment: [String: String], colours: Bool
    ) {
        #expect(choice.applies(toTerminal: isTerminal, environment: environment) == colours)
    }
}
