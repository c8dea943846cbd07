package import ArgumentParser
import Glibc
import ReportAudit
import Reports
import RowFiles
import SubscriptionStore
package import Subscriptions

/// Parses a command line, performs its command, and reports how that ended.
package enum CommandRunner {
    /// Runs one command line; `arguments` come without the program's name.
    package static func run(_ arguments: [String], in invocation: Invocation) async -> ExitStatus {
        if arguments.isEmpty {
            // A scheduler must not take a missing command for success.
            invocation.say(lines: HelpText.short.lines)
            return .usage
        }
        // The second is the name of earlier versions.
        if [["help", "exit-statuses"], ["help", "exit-status"]].contains(arguments) {
            return show(in: invocation) { () throws(CommandFailure) in
                try invocation.show(lines: CommandStatuses.helpOfAll.lines)
            }
        }
        if arguments.count == 2, Set(arguments) == ["--version", "--json"] {
            return show(in: invocation) { () throws(CommandFailure) in
                try invocation.show(json: ToolVersion.json)
            }
        }
        // The parser would show the overview, as if that had been asked for.
        if arguments.first == "help", let problem = unknownVerb(in: arguments) {
            return refuse(problem, arguments: arguments, in: invocation)
        }
        let verb: any ParsableCommand
        do {
            verb = try TrueUp.parseAsRoot(arguments)
        } catch {
            return endOfParsing(error, arguments: arguments, in: invocation)
        }
        guard let verb = verb as? any Verb else {
            // Either `help`, which ends by throwing its text, or no verb at all.
            do {
                var command = verb
                try command.run()
                return .ok
            } catch {
                return endOfParsing(error, arguments: arguments, in: invocation)
            }
        }
        do {
            let status = try await verb.perform(in: invocation)
            try invocation.output.flush()
            return status
        } catch {
            // Results that are complete so far are written before the error that ended them.
            try? invocation.output.flush()
            let report = ErrorReport(error)
            report.say(
                asJSON: verb.common.json || verb.common.logFormat == .json, in: invocation)
            return report.status
        }
    }

    /// Returns what is wrong with an unknown name of a command; the parser would not suggest any.
    private static func unknownVerb(in arguments: [String]) -> String? {
        let words = arguments.first == "help" ? arguments.dropFirst() : arguments[...]
        guard let name = words.first, !name.hasPrefix("-"), name != "help" else { return nil }
        let verbs = TrueUp.configuration.subcommands.flatMap {
            [$0._commandName] + $0.configuration.aliases
        }
        guard !verbs.contains(name) else { return nil }
        let suggestion = name.suggestion(among: verbs).map { $0 + " " }
        return
            "There is no command \"\(name)\"; \(suggestion ?? "")\"trueup --help\" lists them."
    }

    private static func refuse(
        _ problem: String, saying lines: [String]? = nil, arguments: [String],
        in invocation: Invocation
    ) -> ExitStatus {
        if arguments.prefix(while: { $0 != "--" }).contains("--json") {
            invocation.say(json: ErrorReport.json(status: .usage, message: problem))
        } else {
            invocation.say(lines: lines ?? ["Error: " + problem])
        }
        return .usage
    }

    private static func show(
        in invocation: Invocation, _ text: () throws(CommandFailure) -> Void
    ) -> ExitStatus {
        do throws(CommandFailure) {
            try text()
            try invocation.output.flush()
            return .ok
        } catch {
            return error.status
        }
    }

    /// Help and version go to standard output with 0; anything else is a usage error.
    private static func endOfParsing(
        _ error: any Error, arguments: [String], in invocation: Invocation
    ) -> ExitStatus {
        if let problem = unknownVerb(in: arguments) {
            return refuse(problem, arguments: arguments, in: invocation)
        }
        var text = HelpText.wrappingUsage(of: TrueUp.fullMessage(for: error))
        // The parser repeats an argument as it was given, or the value behind its "=".
        for argument in arguments where argument.contains("\n") {
            let value = argument.split(separator: "=", maxSplits: 1).last.map(String.init)
            for repeated in [argument, value].compactMap(\.self) {
                text = text.replacing(repeated, with: PlainText.of(repeated))
            }
        }
        guard TrueUp.exitCode(for: error).isSuccess else {
            return refuse(
                TrueUp.message(for: error), saying: text.lines, arguments: arguments,
                in: invocation)
        }
        return show(in: invocation) { () throws(CommandFailure) in
            let whole = text.hasPrefix("OVERVIEW: ") ? HelpText.whole(text) : text
            try invocation.show(lines: whole.lines)
        }
    }
}

/// The options that every command takes.
package struct CommonOptions: ParsableArguments {
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "The settings file (default: $TRUEUP_CONFIG, or ./trueup.yaml).", valueName: "file"),
        completion: .file())
    package var config: String?

    @Flag(help: "Print results and errors as JSON.")
    package var json = false

    @Flag(name: .shortAndLong, help: "Print only results, warnings and errors.")
    package var quiet = false

    @Flag(name: .shortAndLong, help: "Also print the log on standard error.")
    package var verbose = false

    @Option(
        help: ArgumentHelp("The form of messages on standard error.", valueName: "format"))
    package var logFormat = LogFormat.text

    @Option(
        help: ArgumentHelp("When to colour text; auto also obeys NO_COLOR.", valueName: "when")
    )
    package var color = ColorChoice.auto

    package init() {}

    package func validate() throws {
        try refuse(
            if: quiet && verbose,
            "--quiet and --verbose contradict each other; give one of them.")
    }

    /// Reads the settings that `--config`, the environment or the current folder names.
    func settings(in invocation: Invocation) throws(ConfigurationError) -> Settings {
        try Settings.load(flag: config, environment: invocation.environment)
    }

    /// Whether to colour results for people.
    func colours(outputOf invocation: Invocation) -> Bool {
        color.applies(
            toTerminal: invocation.outputIsTerminal, environment: invocation.environment)
    }

    /// Shows a result: with `--json` for machines, otherwise for people.
    func show(
        _ json: @autoclosure () -> CanonicalJSON, _ lines: @autoclosure () -> [String],
        in invocation: Invocation
    ) throws(CommandFailure) {
        guard self.json else { return try invocation.show(lines: lines()) }
        try invocation.show(json: json())
    }
}

extension ParsableArguments {
    /// Refuses arguments that contradict each other, or lack something.
    func refuse(if isWrong: Bool, _ message: String) throws(ValidationError) {
        if isWrong { throw ValidationError(message) }
    }
}

/// The form of log lines and of errors.
package enum LogFormat: String, CaseIterable, Sendable, ExpressibleByArgument {
    case text, json
}

/// When text is coloured.
package enum ColorChoice: String, CaseIterable, Sendable, ExpressibleByArgument {
    case auto, always, never

    /// Whether to colour what goes to a stream.
    ///
    /// `NO_COLOR` (https://no-color.org) counts for `auto` alone: who writes `always` means it.
    package func applies(toTerminal isTerminal: Bool, environment: [String: String]) -> Bool {
        switch self {
        case .always: true
        case .never: false
        case .auto:
            isTerminal && environment["NO_COLOR", default: ""].isEmpty
                && environment["TERM"] != "dumb"
        }
    }
}

/// An error that ends a command early, with its exit status and a sentence for the person on call.
package struct CommandFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package var status: ExitStatus
    /// Empty when no process would read it (the reader of standard output has gone).
    package var description: String

    package init(_ status: ExitStatus, _ description: String) {
        self.status = status
        self.description = description
    }

    /// A stream that takes no more.
    ///
    /// A reader that closed the pipe (`trueup export | head`) needs no message.
    static func output(_ name: String, errorNumber: Int32) -> CommandFailure {
        guard errorNumber != EPIPE else { return CommandFailure(.output, "") }
        return CommandFailure(
            .output,
            "The command could not write to \(name): \(SettingsFile.reason(errorNumber)).")
    }
}

/// The one place where an error becomes an exit status and a message.
package struct ErrorReport {
    package var status: ExitStatus
    package var message: String
    private var details: [String: CanonicalJSON] = [:]

    package init(_ error: any Error) {
        (status, message) = Self.statusAndMessage(of: error)
        guard let error = error as? ConfigurationError else { return }
        details = [
            "file": .string(error.file), "line": .count(error.line), "key": .text(error.key),
            "suggestion": .text(error.suggestion),
        ]
    }

    private static func statusAndMessage(of error: any Error) -> (ExitStatus, String) {
        switch error {
        case let error as ConfigurationError: (error.status, error.description)
        case let error as CommandFailure: (error.status, error.description)
        case let error as RowFileError: (.data, error.description)
        case let error as StoreError: (error.exitStatus, error.description)
        case let error as ReportError: (status(of: error), error.description)
        case let error as PlanFileError: (status(of: error), error.description)
        case let error as AuditFailure: (status(of: error), error.description)
        case let error as RunLockError: (status(of: error), error.description)
        case let error as RunStop: statusAndMessage(ofStop: error)
        case is CancellationError: (.terminated, "The command was stopped.")
        default:
            (
                .failure,
                "An unexpected error: \(error). This is a fault of trueup, please report it."
            )
        }
    }

    private static func status(of error: ReportError) -> ExitStatus {
        switch error {
        case .cannotCreate: .cannotCreate
        case .notWritten: .output
        case .record: .internal
        case .otherDatabase: .config
        case .busy: .busy
        }
    }

    private static func status(of error: PlanFileError) -> ExitStatus {
        switch error {
        case .unreadable, .noPlan: .data
        case .edited: .stale
        }
    }

    private static func status(of error: AuditFailure) -> ExitStatus {
        switch error {
        case .noReport, .unreadable, .certificate: .data
        case .anchor: .usage
        }
    }

    private static func status(of error: RunLockError) -> ExitStatus {
        switch error {
        case .held: .busy
        case .cannotLock: .output
        // As a database that is not there.
        case .noFolder: .unavailable
        }
    }

    private static func statusAndMessage(ofStop stop: RunStop) -> (ExitStatus, String) {
        switch stop {
        case .denied(let text): (.denied, text)
        case .misconfigured(let text): (.config, text)
        case .quotaWaitPastDeadline(let time):
            (
                .busy,
                "Apple's quota is used up until \(time.rfc3339), after the deadline. Nothing was "
                    + "written. Give the command again after that time."
            )
        case .deadlineReached:
            (.incomplete, "The deadline came before Apple's answer. Give the command again.")
        case .cancelled: (.terminated, "The command was stopped.")
        case .store(let error): (error.exitStatus, error.description)
        }
    }

    /// Says it on standard error, unless there is nothing to say.
    func say(asJSON: Bool, in invocation: Invocation) {
        guard !message.isEmpty else { return }
        guard asJSON else { return invocation.say("error: " + message) }
        invocation.say(json: Self.json(status: status, message: message, details: details))
    }

    static func json(
        status: ExitStatus, message: String, details: [String: CanonicalJSON] = [:]
    ) -> CanonicalJSON {
        let members: [String: CanonicalJSON] = [
            "error": .string(message), "exit_status": .integer(Int64(status.code)),
            "name": .string(status.name),
        ]
        return .object(members.merging(details) { own, _ in own })
    }
}
