import Glibc

/// A program run to its end, or to the end of its time; it blocks the thread.
///
/// The program leads a process group of its own, so that whatever it started ends with it when
/// the time is up. It inherits no ignored signal, and no descriptor but its three streams. SIGPIPE
/// must be ignored here.
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
    let environment: [String]
    let input: [UInt8]
    let timeout: Duration

    /// Between asking it to end and ending it.
    private static let grace = Duration.seconds(2)
    private static let pauseMicroseconds: UInt32 = 5000

    func run() -> Result {
        do throws(SystemFailure) {
            let input = try Pipe()
            defer { input.closeBoth() }
            let output = try Pipe()
            defer { output.closeBoth() }
            let process = try spawn(input: input.reading, output: output.writing)
            // Held open here, they would never seem to end.
            input.closeReading()
            output.closeWriting()
            return wait(
                for: process, feeding: Input(bytes: self.input, pipe: input),
                reading: Output(pipe: output))
        } catch {
            return Result(end: .notStarted(error.reason))
        }
    }

    private func spawn(input: Int32, output: Int32) throws(SystemFailure) -> pid_t {
        Self.keepDescriptors()
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        unsafe posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        unsafe posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO)

        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var all = sigset_t()
        unsafe sigfillset(&all)
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setpgroup(&attributes, 0)
        unsafe posix_spawnattr_setflags(
            &attributes,
            Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))

        var process: pid_t = 0
        var argumentList = unsafe arguments.map { unsafe strdup($0) } + [nil]
        defer { for index in unsafe argumentList.indices { unsafe free(argumentList[index]) } }
        var variables = unsafe environment.map { unsafe strdup($0) } + [nil]
        defer { for index in unsafe variables.indices { unsafe free(variables[index]) } }
        let code = unsafe posix_spawn(
            &process, arguments[0], &actions, &attributes, &argumentList, &variables)
        guard code == 0 else { throw SystemFailure(code: code) }
        return process
    }

    /// Marks every descriptor to be closed on exec.
    ///
    /// What was open before this process began, or was opened by a library, need not be marked.
    /// Nothing that is started here is to have any of it.
    private static func keepDescriptors() {
        guard let folder = unsafe opendir("/proc/self/fd") else { return }
        defer { unsafe closedir(folder) }
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { bytes in
                unsafe bytes.withMemoryRebound(to: CChar.self, capacity: 256) {
                    unsafe String(cString: $0)
                }
            }
            if let number = Int32(name), number > STDERR_FILENO {
                _ = fcntl(number, F_SETFD, FD_CLOEXEC)
            }
        }
    }

    private func wait(
        for process: pid_t, feeding input: consuming Input, reading output: consuming Output
    ) -> Result {
        var result = Result(end: .timedOut)
        let deadline = ContinuousClock.now + timeout
        var isInTime = true
        while isInTime, !hasEnded(process) {
            input.feed()
            output.wait()
            isInTime = ContinuousClock.now < deadline
        }
        if !isInTime { end(process) }
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) < 0 && errno == EINTR {}
        output.drain()
        result.output = output.text
        if isInTime {
            result.end =
                status & 0x7F == 0 ? .exited((status >> 8) & 0xFF) : .signalled(status & 0x7F)
        }
        return result
    }

    /// Whether it has ended; its number stays taken until it is waited for.
    private func hasEnded(_ process: pid_t) -> Bool {
        var info = unsafe siginfo_t()
        let result = unsafe waitid(P_PID, id_t(process), &info, WEXITED | WNOHANG | WNOWAIT)
        // An error would mean that there is nothing to wait for.
        return unsafe result != 0 || info.si_signo == SIGCHLD
    }

    /// Asks the whole group to end, and ends what does not.
    private func end(_ process: pid_t) {
        kill(-process, SIGTERM)
        let deadline = ContinuousClock.now + Self.grace
        while !hasEnded(process), ContinuousClock.now < deadline { usleep(Self.pauseMicroseconds) }
        // The leader's number is still taken, so this cannot meet a stranger's group.
        kill(-process, SIGKILL)
    }
}
