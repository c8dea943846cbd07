package import ArgumentParser

/// The options that every command takes.
package struct CommonOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The settings file (else $TRUEUP_CONFIG, else ./trueup.yaml).", valueName: "file"),
        completion: .file())
    package var config: String?

    @Flag(name: .long, help: "Results and errors as JSON.")
    package var json = false

    @Flag(name: .long, help: "Nothing but results and errors.")
    package var quiet = false

    @Flag(name: .long, help: "Say more about what is going on.")
    package var verbose = false

    @Option(
        name: .customLong("log-format"),
        help: ArgumentHelp("How messages are written to standard error.", valueName: "format"))
    package var logFormat = LogFormat.text

    @Option(
        name: .long,
        help: ArgumentHelp("Colour in text meant for people; see also NO_COLOR.", valueName: "when")
    )
    package var color = ColorChoice.auto

    package init() {}

    package func validate() throws {
        if quiet && verbose {
            throw ValidationError("--quiet and --verbose contradict each other; give one of them.")
        }
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
