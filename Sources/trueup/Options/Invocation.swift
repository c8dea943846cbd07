import FoundationEssentials
import Glibc
package import Subscriptions

/// What a command needs of its process: variables, streams and clock, as values that a test can replace.
package struct Invocation {
    package var environment: [String: String]
    /// Results.
    package var output: any ByteSink
    /// Everything else.
    package var diagnostics: any ByteSink
    package var outputIsTerminal: Bool
    package var diagnosticsAreTerminal: Bool
    /// The width of the terminal behind the output; `nil` where it does not say.
    package var outputColumns: @Sendable () -> Int? = { nil }
    /// The same of the terminal behind the diagnostics.
    package var diagnosticsColumns: @Sendable () -> Int? = { nil }
    package var now: @Sendable () -> Timestamp
    /// How long a command that may wait for a run to end does so before it gives up (exit 75).
    package var lockPatienceMilliseconds = 10_000

    package init(
        environment: [String: String], output: any ByteSink, diagnostics: any ByteSink,
        outputIsTerminal: Bool = false, diagnosticsAreTerminal: Bool = false,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.environment = environment
        self.output = output
        self.diagnostics = diagnostics
        self.outputIsTerminal = outputIsTerminal
        self.diagnosticsAreTerminal = diagnosticsAreTerminal
        self.now = now
    }

    /// The process's own streams, variables and clock.
    package static func process() -> Invocation {
        var invocation = Invocation(
            environment: ProcessInfo.processInfo.environment,
            output: DescriptorSink(descriptor: STDOUT_FILENO, name: "standard output"),
            diagnostics: DescriptorSink(descriptor: STDERR_FILENO, name: "standard error"),
            outputIsTerminal: isatty(STDOUT_FILENO) == 1,
            diagnosticsAreTerminal: isatty(STDERR_FILENO) == 1,
            now: {
                Timestamp(unixMilliseconds: Int64(Date().timeIntervalSince1970 * 1000))
            })
        invocation.outputColumns = { terminalColumns(of: STDOUT_FILENO) }
        invocation.diagnosticsColumns = { terminalColumns(of: STDERR_FILENO) }
        return invocation
    }

    /// The width of a terminal, which may change while a command goes on.
    static func terminalColumns(of descriptor: Int32) -> Int? {
        var size = winsize()
        guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
            return nil
        }
        return Int(size.ws_col)
    }

    /// A text for people, broken between words where it goes to a terminal that is narrower.
    func fitted(_ text: String) -> String {
        guard outputIsTerminal, let columns = outputColumns() else { return text }
        return TerminalLines.fitted(text, columns: columns)
    }

    /// The wall clock, or that of a rehearsal: it starts at a chosen time and goes on from there.
    ///
    /// - Throws: 64 for a rehearsal, unless every app asks a server on this machine.
    func clock(
        startingAt start: TimeOption?, settings: Settings
    ) throws -> @Sendable () -> Timestamp {
        guard let start = start?.timestamp else { return now }
        guard settings.apps.allSatisfy(\.endpoint.isLoopback) else {
            throw CommandFailure(
                .usage, "--now is for rehearsals: it needs a loopback endpoint in every app")
        }
        let started = ContinuousClock.now
        return {
            let elapsed = ContinuousClock.now - started
            return start.adding(milliseconds: Int64(elapsed / .milliseconds(1)))
        }
    }

    /// Writes a message to standard error; one that cannot be written never fails a command.
    ///
    /// - Parameter text: For people, then broken between words on a narrow terminal; or one JSON object.
    package func say(_ text: String) {
        var text = text
        if diagnosticsAreTerminal, !text.hasPrefix("{"), let columns = diagnosticsColumns() {
            text = TerminalLines.fitted(text, columns: columns)
        }
        try? diagnostics.line(text)
        try? diagnostics.flush()
    }
}
