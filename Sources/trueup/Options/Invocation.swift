import FoundationEssentials
import Glibc
import SubscriptionStore
package import Subscriptions

/// The parts of its process that a command needs: variables, streams and clock, as values that a
/// test can replace.
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
    /// The width of the terminal behind the diagnostics.
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

    /// The width of a terminal, which may change while a command is active.
    static func terminalColumns(of descriptor: Int32) -> Int? {
        var size = winsize()
        guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
            return nil
        }
        return Int(size.ws_col)
    }

    /// Writes a line for people to the results, broken between words where the terminal is
    /// narrower.
    ///
    /// - Parameter line: May hold foreign text; whatever a terminal would obey is spelled out.
    /// - Throws: When the stream takes no more.
    func show(_ line: String) throws(CommandFailure) { try show(lines: [line]) }

    /// Writes lines for people.
    ///
    /// Foreign text in a line cannot begin another line.
    ///
    /// - Parameters:
    ///   - lines: May hold foreign text; whatever a terminal would obey is spelled out.
    ///   - isColoured: Whether the lines have the program's own colours. Foreign text in such a
    ///     line must be made plain before it is put in, or it could bring colours of its own.
    /// - Throws: When the stream takes no more.
    func show(lines: [String], isColoured: Bool = false) throws(CommandFailure) {
        let plain = lines.map(isColoured ? PlainText.ofColoured : PlainText.of)
        try output.line(fitted(plain.joined(separator: "\n")))
    }

    /// Writes one JSON text for machines.
    func show(json: CanonicalJSON) throws(CommandFailure) {
        try show(renderedJSON: json.rendered)
    }

    /// Shows JSON that is text already, without a line feed at the end.
    func show(renderedJSON text: String) throws(CommandFailure) {
        try output.line(PlainText.ofJSON(text))
    }

    /// Where rows and files are written as they are; a terminal gets them spelled out.
    var rawOutput: any ByteSink { outputIsTerminal ? TerminalFilter(output) : output }

    /// The width for text that is laid out before it is shown; `nil` where nothing says one.
    ///
    /// A terminal narrower than this cannot be laid out for.
    var textColumns: Int? {
        guard outputIsTerminal, let columns = outputColumns(), columns >= 40 else { return nil }
        return columns
    }

    private func fitted(_ text: String) -> String {
        guard outputIsTerminal, let columns = outputColumns() else { return text }
        return TerminalLines.fitted(text, columns: columns)
    }

    /// The wall clock, or that of a rehearsal: it starts at a chosen time and continues from there.
    ///
    /// - Throws: 64 for a rehearsal, unless every app asks a server on this machine.
    func clock(
        startingAt start: Timestamp?, settings: Settings
    ) throws -> @Sendable () -> Timestamp {
        guard let start else { return now }
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

    /// Takes the lock of a run, and waits for an active one.
    ///
    /// - Throws: `RunLockError`, 75 where that run does not end in time.
    func lock(_ settings: Settings, for holder: String) throws(RunLockError) -> RunLock {
        try RunLock.acquire(
            forDatabaseAt: settings.databasePath, holder: holder, now: now(),
            waitMilliseconds: lockPatienceMilliseconds)
    }

    /// Writes a message of one line to standard error; one that cannot be written never fails a
    /// command.
    ///
    /// - Parameter line: May hold foreign text; whatever a terminal would obey is spelled out.
    package func say(_ line: String) { say(lines: [line]) }

    /// Writes lines to standard error.
    ///
    /// Foreign text in a line cannot begin another line.
    func say(lines: [String]) {
        var text = lines.map(PlainText.of).joined(separator: "\n")
        if diagnosticsAreTerminal, let columns = diagnosticsColumns() {
            text = TerminalLines.fitted(text, columns: columns)
        }
        writeMessage(text)
    }

    /// Writes one JSON object to standard error.
    func say(json: CanonicalJSON) { writeMessage(PlainText.ofJSON(json.rendered)) }

    private func writeMessage(_ text: String) {
        try? diagnostics.line(text)
        try? diagnostics.flush()
    }
}

extension CanonicalJSON {
    /// A number; `null` for none.
    static func count(_ number: Int?) -> CanonicalJSON {
        number.map { .integer(Int64($0)) } ?? .null
    }

    /// The code of a status; `null` for none.
    static func exitStatus(_ status: ExitStatus?) -> CanonicalJSON {
        .count(status.map { Int($0.code) })
    }

    static func strings(_ texts: [String]) -> CanonicalJSON { .array(texts.map(string)) }

    /// An object of named values; of several with one name, the first counts.
    static func object(
        ofMembers members: some Sequence<(String, CanonicalJSON)>
    ) -> CanonicalJSON {
        .object(Dictionary(members) { first, _ in first })
    }
}

extension AppIdentity {
    /// The app with what is said of it.
    func json(_ others: [String: CanonicalJSON]) -> CanonicalJSON {
        let names: [String: CanonicalJSON] = [
            "bundle_id": .string(bundleID), "environment": .string(environment.rawValue),
        ]
        return .object(names.merging(others) { name, _ in name })
    }
}
