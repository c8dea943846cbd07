import Glibc
import Subprocess
import SystemPackage

/// A program run to its end, or to the end of its time.
///
/// The program leads a process group of its own, so that whatever it started ends with it when the
/// time is up. It inherits no ignored signal, and no descriptor but its three streams. What it started
/// and left running is not waited for, even where it holds the streams. SIGPIPE must be ignored here.
struct ChildProcess: Sendable {
    enum End: Hashable, Sendable {
        case exited(Int32)
        case signalled(Int32)
        case timedOut
        case notStarted(String)
    }

    struct Result: Sendable {
        var end: End
        /// The beginning of what it wrote to standard output and standard error; the rest is read
        /// and dropped.
        var output = ""
    }

    let arguments: [String]
    let environment: [String: String]
    let input: [UInt8]
    let timeout: Duration

    /// Between asking it to end and ending it.
    private static let grace = Duration.seconds(2)
    private static let pollInterval = Duration.milliseconds(10)
    private static let keptBytes = 1024

    func run() async -> Result {
        var options = PlatformOptions()
        options.processGroupID = 0
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
            _ = try await stream.write(input)
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
                // What it left running may go on printing for ever.
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
        _ = await hasEnded(process, within: Self.grace)
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
