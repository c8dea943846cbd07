import ArgumentParser
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

    @Test(arguments: [[]] + verbs.map { [$0] })
    func `explains itself and ends every help with the exit statuses`(
        verb: [String]
    ) async throws {
        for arguments in [verb + ["--help"], ["help"] + verb] {
            let outcome = await workplace.run(arguments)
            #expect(outcome.status == .ok)
            #expect(outcome.output.hasPrefix("OVERVIEW: "))
            #expect(outcome.output.hasSuffix(ExitStatusHelp.text + "\n"))
            #expect(outcome.diagnostics.isEmpty)
            // The rest is as wide as the terminal.
            let usage = outcome.output.firstMatch(of: /USAGE: (?:.|\n)*?\n\n/)?.0 ?? ""
            #expect(usage.contains("trueup"))
            for line in (usage + ExitStatusHelp.text).split(separator: "\n") {
                #expect(line.count <= 80, "\(line)")
            }
        }
    }

    @Test(arguments: ["0", "abc", "-1"])
    func `says what a rate is where one is none`(rate: String) async {
        let outcome = await workplace.run(["throttle", "nightly", "--", rate])
        #expect(outcome.status == .usage)
        #expect(outcome.diagnostics.contains("0.01"), "\(outcome.diagnostics)")
        #expect(outcome.diagnostics.contains("off"), "\(outcome.diagnostics)")
    }

    @Test func `lists every exit status with its name in the help`() {
        let text = ExitStatusHelp.text.split(whereSeparator: \.isWhitespace)
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

    @Test(arguments: [
        [], ["frobnicate"], ["init", "--jsn"], ["import"], ["import", "a", "b"],
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
