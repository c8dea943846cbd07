import CSpawn
import Glibc
import Synchronization

/// The started program: one line goes in, one line comes out.
///
/// It leads a process group of its own, so that whatever it started ends with it. It inherits no
/// ignored signal, and no descriptor but its three streams. SIGPIPE must be ignored here.
struct ProgramProcess: Sendable {
    /// The longest line that is read.
    static let longestLineBytes = 16 << 20

    private let identifier: pid_t
    private var input: Int32
    private let output: Int32
    private var errors: Int32
    private var received: [UInt8] = []
    /// How much of `received` holds no line feed.
    private var searched = 0
    private var message: [UInt8] = []
    private let hear: @Sendable (String) -> Void

    /// The reasons for which no answer came, to follow the program's name.
    enum Fault: Error {
        /// It ended, or closed its standard output.
        case ended(String)
        /// It said nothing in time.
        case late
        /// It wrote what is not an answer.
        case violation(String)
    }

    /// - Parameters:
    ///   - command: What is started.
    ///   - hear: Gets each line of its standard error.
    /// - Throws: Why it could not be started.
    init(_ command: ProgramCommand, hear: @escaping @Sendable (String) -> Void) throws(Fault) {
        self.hear = hear
        var ends: [Int32] = []
        for _ in 0..<3 {
            var pair: [Int32] = [-1, -1]
            guard unsafe pipe2(&pair, O_CLOEXEC) == 0 else {
                let code = errno
                for end in ends { close(end) }
                throw .ended("could not be started: \(Self.reason(code))")
            }
            ends += pair
        }
        let theirs = [ends[0], ends[3], ends[5]]
        let ours = [ends[1], ends[2], ends[4]]
        let started = Self.spawn(command, streams: theirs)
        for end in theirs { close(end) }
        guard case .success(let identifier) = started else {
            for end in ours { close(end) }
            guard case .failure(let failure) = started else { throw .late }
            throw failure
        }
        for end in ours { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        self.identifier = identifier
        input = ours[0]
        output = ours[1]
        errors = ours[2]
    }

    private static func spawn(
        _ command: ProgramCommand, streams: [Int32]
    ) -> Result<pid_t, Fault> {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addchdir_np(&actions, command.directory)
        for (number, stream) in streams.enumerated() {
            unsafe posix_spawn_file_actions_adddup2(&actions, stream, Int32(number))
        }
        unsafe posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var all = sigset_t()
        unsafe sigfillset(&all)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setpgroup(&attributes, 0)
        unsafe posix_spawnattr_setflags(
            &attributes,
            Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        var arguments = unsafe command.arguments.map { unsafe strdup($0) } + [nil]
        var environment =
            unsafe command.environment.sorted { $0.key < $1.key }
            .map { unsafe strdup("\($0.key)=\($0.value)") } + [nil]
        defer {
            for index in unsafe arguments.indices { unsafe free(arguments[index]) }
            for index in unsafe environment.indices { unsafe free(environment[index]) }
        }
        var identifier: pid_t = 0
        let code = unsafe posix_spawnp(
            &identifier, command.arguments.first ?? "", &actions, &attributes, &arguments,
            &environment)
        guard code == 0 else {
            return .failure(.ended("could not be started: \(reason(code))"))
        }
        return .success(identifier)
    }

    private static func reason(_ code: Int32) -> String {
        guard let text = unsafe strerror(code) else { return "error \(code)" }
        return unsafe String(cString: text)
    }
}

extension ProgramProcess {
    /// Sends a line and waits for the line that answers it.
    ///
    /// - Parameters:
    ///   - line: Without its line feed.
    ///   - timeout: How long the whole answer is waited for, in milliseconds.
    /// - Returns: The answer without its line feed.
    /// - Throws: Why there is none; then the program must be ended.
    mutating func exchange(
        _ line: [UInt8], within timeout: Int64
    ) throws(Fault) -> [UInt8] {
        try read()
        guard received.isEmpty else {
            throw .violation("wrote a line that no request asked for")
        }
        var rest = (line + [UInt8(ascii: "\n")])[...]
        let deadline = ContinuousClock.now + .milliseconds(timeout)
        while true {
            if let answer = try nextLine() { return answer }
            guard let ready = wait(until: deadline, writing: !rest.isEmpty) else { throw .late }
            if ready.mayWrite { write(&rest) }
            if ready.hasErrors { readErrors() }
            if ready.hasOutput { try read() }
        }
    }

    /// Keeps it from doing anything until it is ended.
    func pause() { kill(-identifier, SIGSTOP) }

    /// Sends a line, and does not wait for its answer.
    mutating func say(_ line: [UInt8], within timeout: Int64) {
        var rest = (line + [UInt8(ascii: "\n")])[...]
        let deadline = ContinuousClock.now + .milliseconds(timeout)
        while !rest.isEmpty, input >= 0, let ready = wait(until: deadline, writing: true) {
            if ready.hasErrors { readErrors() }
            if ready.mayWrite { write(&rest) }
        }
    }

    private mutating func nextLine() throws(Fault) -> [UInt8]? {
        guard let end = received[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
            searched = received.count
            guard searched <= Self.longestLineBytes else {
                throw .violation("wrote a line of more than 16 MiB")
            }
            return nil
        }
        guard end == received.count - 1 else {
            throw .violation("wrote more than one line for one request")
        }
        guard end <= Self.longestLineBytes else {
            throw .violation("wrote a line of more than 16 MiB")
        }
        defer {
            received = []
            searched = 0
        }
        return Array(received[..<end])
    }

    /// Waits for one of the three streams; `nil` when the time is up.
    private func wait(
        until deadline: ContinuousClock.Instant, writing: Bool
    ) -> (mayWrite: Bool, hasOutput: Bool, hasErrors: Bool)? {
        while true {
            let left = deadline - ContinuousClock.now
            guard left > .zero else { return nil }
            let milliseconds = min(Int64(left / .milliseconds(1)) + 1, 1000)
            var streams = [
                pollfd(fd: output, events: Int16(POLLIN), revents: 0),
                pollfd(fd: errors, events: Int16(POLLIN), revents: 0),
                pollfd(fd: writing ? input : -1, events: Int16(POLLOUT), revents: 0),
            ]
            guard unsafe poll(&streams, 3, Int32(milliseconds)) > 0 else { continue }
            return (
                mayWrite: streams[2].revents != 0, hasOutput: streams[0].revents != 0,
                hasErrors: streams[1].revents != 0
            )
        }
    }

    private mutating func write(_ rest: inout ArraySlice<UInt8>) {
        let count = unsafe rest.withUnsafeBytes { bytes in
            unsafe Glibc.write(input, bytes.baseAddress, bytes.count)
        }
        if count > 0 {
            rest = rest.dropFirst(count)
        } else if count < 0, errno != EAGAIN, errno != EINTR {
            // It reads no more; whether it still answers, its output tells.
            rest = []
            closeInput()
        }
    }

    private mutating func closeInput() {
        guard input >= 0 else { return }
        close(input)
        input = -1
    }

    /// Reads the bytes that are there, which may be none.
    private mutating func read() throws(Fault) {
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        let count = unsafe Glibc.read(output, &chunk, chunk.count)
        if count > 0 {
            received += chunk[..<count]
        } else if count == 0 {
            throw .ended(ending())
        } else if errno != EAGAIN, errno != EINTR {
            throw .ended("closed its standard output")
        }
    }

    /// The longest line of standard error that is handed on.
    private static let longestMessageBytes = 1024

    private mutating func readErrors() {
        var chunk = [UInt8](repeating: 0, count: 1 << 14)
        let count = unsafe Glibc.read(errors, &chunk, chunk.count)
        guard count > 0 else {
            if count == 0 || (errno != EAGAIN && errno != EINTR) {
                tellMessage()
                if errors >= 0 { close(errors) }
                errors = -1
            }
            return
        }
        for byte in chunk[..<count] {
            if byte == UInt8(ascii: "\n") {
                tellMessage()
            } else if message.count < Self.longestMessageBytes {
                message.append(byte)
            }
        }
    }

    private mutating func tellMessage() {
        guard !message.isEmpty else { return }
        hear(String(decoding: message, as: UTF8.self))
        message = []
    }

    /// Reads the rest of its standard error, as far as it is there.
    private mutating func drainErrors() {
        for _ in 0..<64 where errors >= 0 {
            var stream = pollfd(fd: errors, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&stream, 1, 0) > 0 else { break }
            readErrors()
        }
        tellMessage()
    }

    /// How it ended, without waiting long: it may only have closed its output.
    private mutating func ending() -> String {
        guard let status = status(within: .milliseconds(500)) else {
            return "closed its standard output"
        }
        return status
    }

    /// How it ended, or `nil` where it runs.
    ///
    /// Its number stays taken until it is waited for.
    private func status(within time: Duration) -> String? {
        let deadline = ContinuousClock.now + time
        while true {
            var info = unsafe siginfo_t()
            let result = unsafe waitid(
                P_PID, id_t(identifier), &info, WEXITED | WNOHANG | WNOWAIT)
            if unsafe result != 0 || info.si_signo == SIGCHLD {
                let number = unsafe info._sifields._sigchld.si_status
                return unsafe info.si_code == Int32(CLD_EXITED)
                    ? "ended with status \(number)" : "was ended by signal \(number)"
            }
            guard ContinuousClock.now < deadline else { return nil }
            usleep(5000)
        }
    }

    /// Lets it end by itself for a moment, and ends it and all that it started otherwise.
    ///
    /// - Parameter grace: How long it may take.
    mutating func end(within grace: Duration) {
        closeInput()
        let deadline = ContinuousClock.now + grace
        while status(within: .zero) == nil, ContinuousClock.now < deadline {
            drainErrors()
            usleep(5000)
        }
        kill(-identifier, SIGKILL)
        var status: Int32 = 0
        while unsafe waitpid(identifier, &status, 0) < 0, errno == EINTR {}
        drainErrors()
        close(output)
        if errors >= 0 { close(errors) }
    }
}

/// The lines of the program's standard error, kept until there is a log for them.
final class ProgramMessages: Sendable {
    private static let mostLines = 1000

    private struct Kept {
        var lines: [String] = []
        var count = 0
        var hearer: (@Sendable (String) -> Void)?
    }

    private let kept = Mutex(Kept())

    func take(_ line: String) {
        let hearer: (@Sendable (String) -> Void)? = kept.withLock { kept in
            kept.count += 1
            guard kept.count <= Self.mostLines, kept.hearer == nil else { return kept.hearer }
            kept.lines.append(line)
            return nil
        }
        let count = kept.withLock(\.count)
        guard let hearer, count <= Self.mostLines + 1 else { return }
        hearer(count <= Self.mostLines ? line : "further lines of the program are not logged")
    }

    func hear(_ hearer: @escaping @Sendable (String) -> Void) {
        let lines = kept.withLock { kept in
            kept.hearer = hearer
            defer { kept.lines = [] }
            return kept.lines
        }
        for line in lines { hearer(line) }
    }
}
