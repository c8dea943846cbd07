import ArgumentParser
package import Subscriptions

/// Parses a command line, performs its command, and reports how that ended.
package enum CommandRunner {
    /// Runs one command line; `arguments` come without the program's name.
    package static func run(_ arguments: [String], in invocation: Invocation) async -> ExitStatus {
        if arguments == ["help", "exit-status"] { return exitStatusPage(in: invocation) }
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

    /// What is wrong with the name of the command, if it is none; the parser would not suggest any.
    private static func unknownVerb(in arguments: [String]) -> String? {
        let words = arguments.first == "help" ? arguments.dropFirst() : arguments[...]
        guard let name = words.first, !name.hasPrefix("-"), name != "help" else { return nil }
        let verbs = TrueUp.configuration.subcommands.flatMap {
            [$0._commandName] + $0.configuration.aliases
        }
        guard !verbs.contains(name) else { return nil }
        let suggestion = NearestName.suggestion(for: name, among: verbs)
            .map { "did you mean \"\($0)\"? " }
        return "there is no command \"\(name)\"; \(suggestion ?? "")\"trueup --help\" lists them."
    }

    private static func refuse(
        _ problem: String, arguments: [String], in invocation: Invocation
    ) -> ExitStatus {
        let isJSON = arguments.prefix { $0 != "--" }.contains("--json")
        if isJSON {
            invocation.say(json: ErrorReport.json(status: .usage, message: problem))
        } else {
            invocation.say("Error: " + problem)
        }
        return .usage
    }

    private static func exitStatusPage(in invocation: Invocation) -> ExitStatus {
        do throws(CommandFailure) {
            try invocation.show(text: ExitStatusHelp.text)
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
        var text = HelpLines.wrappingUsage(of: TrueUp.fullMessage(for: error))
        // The parser repeats an argument as it was given.
        for argument in arguments where argument.contains("\n") {
            text = text.replacing(argument, with: PlainText.of(argument))
        }
        guard TrueUp.exitCode(for: error).isSuccess else {
            let isJSON = arguments.prefix { $0 != "--" }.contains("--json")
            if isJSON {
                invocation.say(
                    json: ErrorReport.json(status: .usage, message: TrueUp.message(for: error)))
            } else {
                invocation.say(text: text)
            }
            return .usage
        }
        do throws(CommandFailure) {
            let whole =
                text.hasPrefix("OVERVIEW: ")
                ? text + "\n" + CommandExamples.section(ofHelp: text) + ExitStatusHelp.text : text
            try invocation.show(text: whole)
            try invocation.output.flush()
            return .ok
        } catch {
            return error.status
        }
    }
}
