import Glibc
import Subprocess
package import Subscriptions
import SystemPackage

/// A command of the company's: one process per event, which reads it from standard input and
/// ends with 0 once it has it.
package struct CommandDestination: EventDestination {
    package let timeout: Duration
    /// A script rarely expects a second one of itself.
    package let concurrency = 1
    private let arguments: [String]
    private let environment: [String: String]
    private let shows: @Sendable (String) -> Void

    /// - Parameters:
    ///   - arguments: the program's path and its arguments; no shell reads them.
    ///   - environment: of this process; the command gets only a few harmless variables of it.
    ///   - timeout: after it, the command and everything that it started are stopped.
    ///   - shows: gets the beginning of what a command prints.
    package init(
        arguments: [String], environment: [String: String], timeout: Duration,
        shows: @escaping @Sendable (String) -> Void
    ) {
        self.arguments = arguments
        self.environment = ChildProcess.handedOn(environment)
        self.timeout = timeout
        self.shows = shows
    }

    package func deliver(_ event: OutboxEvent) async -> DeliveryAnswer {
        var environment = environment
        environment["TRUEUP_EVENT"] = event.event
        environment["TRUEUP_IDEMPOTENCY_KEY"] = event.idempotencyKey
        let child = ChildProcess(
            arguments: arguments, environment: environment,
            input: .bytes(Array((event.body + "\n").utf8)), timeout: timeout)
        let result = await child.run()
        if !result.output.isEmpty { shows(result.output) }
        return child.failure(result.end).map { .failed("the command " + $0) } ?? .accepted
    }
}

/// A program run to its end, or to the end of its time.
///
/// The program leads a process group of its own, so that whatever it started ends with it when the
/// time is up. It inherits no ignored signal, and no descriptor but its three streams. What it
/// started and left running is not waited for, even where it holds the streams. SIGPIPE must be
/// ignored here.
package struct ChildProcess: Sendable {
    package enum Input: Sendable {
        case bytes([UInt8])
        /// The contents of a file, read while the program reads.
        case file(String)
    }

    package enum End: Hashable, Sendable {
        case exited(Int32)
        case signalled(Int32)
        case timedOut
        case notStarted(String)
    }

    package struct Result: Sendable {
        package var end: End
        /// The beginning of what it wrote to standard output and standard error; the rest is read
        /// and dropped.
        package var output = ""
    }

    let arguments: [String]
    let environment: [String: String]
    let input: Input
    let timeout: Duration

    /// - Parameters:
    ///   - arguments: The program's path and its arguments; no shell reads them.
    ///   - environment: Every variable that it gets.
    ///   - input: Its standard input.
    ///   - timeout: After it, the program and all that it started is ended.
    package init(
        arguments: [String], environment: [String: String], input: Input, timeout: Duration
    ) {
        self.arguments = arguments
        self.environment = environment
        self.input = input
        self.timeout = timeout
    }

    /// Returns how it failed, in words that follow its name; `nil` where it ended with 0.
    func failure(_ end: End) -> String? {
        switch end {
        case .exited(0): nil
        case .exited(let status): "ended with status \(status)"
        case .signalled(let number): "was ended by signal \(number)"
        case .timedOut: "took longer than \(timeout.components.seconds) s and was ended"
        case .notStarted(let reason): "could not be started: \(reason)"
        }
    }

    /// The variables of this process that a program of the company's may need to find its way; none
    /// of them is trueup's.
    package static func handedOn(_ environment: [String: String]) -> [String: String] {
        let inherited: Set = ["HOME", "LANG", "PATH", "TMPDIR", "TZ", "USER"]
        var handedOn = environment.filter { inherited.contains($0.key) }
        handedOn["PATH"] = handedOn["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
        return handedOn
    }

    /// Between asking it to end and ending it.
    private static let grace = Duration.seconds(2)
    private static let pollInterval = Duration.milliseconds(10)
    private static let keptBytes = 1024

    package func run() async -> Result {
        var options = PlatformOptions()
        options.processGroupID = 0
        options.teardownSequence = [.gracefulShutDown(allowedDurationToNextStep: Self.grace)]
        var variables: [Environment.Key: String] = [:]
        for (name, value) in environment { variables[Environment.Key(stringLiteral: name)] = value }
        do {
            let ended = try await Subprocess.run(
                .path(FilePath(arguments[0])), arguments: Arguments(Array(arguments.dropFirst())),
                environment: .custom(variables), platformOptions: options,
                input: .inputWriter, output: .sequence, error: .combinedWithOutput
            ) { execution in
                async let isInTime = endsInTime(execution)
                async let fed: Void = feed(execution.standardInputWriter)
                let output = await beginning(
                    of: execution.standardOutput, process: execution.processIdentifier.value)
                await fed
                return (isInTime: await isInTime, output: output)
            }
            let (isInTime, output) = ended.closureResult
            guard isInTime else { return Result(end: .timedOut, output: output) }
            switch ended.terminationStatus {
            case .exited(let status): return Result(end: .exited(status), output: output)
            case .signaled(let number): return Result(end: .signalled(number), output: output)
            }
        } catch let error as SubprocessError {
            return Result(end: .notStarted(error.underlyingError?.description ?? "\(error)"))
        } catch {
            return Result(end: .notStarted("\(error)"))
        }
    }

    /// Hands over what it reads; a program that does not read it all may still succeed.
    private func feed(_ stream: StandardInputWriter) async {
        do {
            switch input {
            case .bytes(let bytes): _ = try await stream.write(bytes)
            case .file(let path):
                let file = try FileDescriptor.open(
                    FilePath(path), .readOnly, options: .closeOnExec)
                defer { try? file.close() }
                var chunk = [UInt8](repeating: 0, count: 1 << 16)
                while true {
                    let count = try unsafe chunk.withUnsafeMutableBytes {
                        try unsafe file.read(into: $0)
                    }
                    guard count > 0 else { break }
                    _ = try await stream.write(Array(chunk[..<count]))
                }
            }
            try await stream.finish()
        } catch {
            return
        }
    }

    /// Reads what it prints, so that it never waits for us, and keeps the beginning.
    private func beginning(of stream: SubprocessOutputSequence, process: pid_t) async -> String {
        var kept: [UInt8] = []
        do {
            for try await chunk in stream {
                unsafe chunk.withUnsafeBytes { bytes in
                    unsafe kept.append(contentsOf: bytes.prefix(Self.keptBytes - kept.count))
                }
                // What it left running may continue printing for ever.
                if kept.count == Self.keptBytes, Self.hasEnded(process) { break }
            }
        } catch {
            // What was read until then is shown all the same.
        }
        return String(decoding: kept, as: UTF8.self)
    }

    /// Waits for its end; asks the whole group to end when the time is up, and ends what does not.
    ///
    /// The teardown of the library would spare the rest of the group once the leader has ended, and
    /// nothing of it watches a program that has closed its streams.
    private func endsInTime(
        _ execution: Execution<some InputProtocol, some OutputProtocol, some OutputProtocol>
    ) async -> Bool {
        let process = execution.processIdentifier.value
        if await hasEnded(process, within: timeout) { return true }
        try? execution.send(signal: .terminate, toProcessGroup: true)
        // A task of its own: one that is cancelled does not wait.
        _ = await Task { await hasEnded(process, within: Self.grace) }.value
        // The leader's number is taken until this closure returns: no other group can have it.
        try? execution.send(signal: .kill, toProcessGroup: true)
        return false
    }

    private func hasEnded(_ process: pid_t, within time: Duration) async -> Bool {
        let deadline = ContinuousClock.now + time
        while !Self.hasEnded(process) {
            guard ContinuousClock.now < deadline else { return false }
            do {
                try await Task.sleep(for: Self.pollInterval)
            } catch {
                return false
            }
        }
        return true
    }

    /// Whether it has ended; its number stays taken until it is waited for.
    private static func hasEnded(_ process: pid_t) -> Bool {
        var info = unsafe siginfo_t()
        let result = unsafe waitid(P_PID, id_t(process), &info, WEXITED | WNOHANG | WNOWAIT)
        // An error would mean that there is nothing to wait for.
        return unsafe result != 0 || info.si_signo == SIGCHLD
    }
}
