import CAllocator
import Glibc
import Subscriptions

/// Where the process begins and ends.
@main
enum EntryPoint {
    static func main() async {
        prepareProcess()
        guard mayOpenEnoughFiles() else { exit(ExitStatus.config.code) }
        let arguments = Array(CommandLine.arguments.dropFirst())
        let invocation = Invocation.process()
        HelpText.ensureWidth(in: invocation)
        let status = await CommandRunner.run(arguments, in: invocation)
        exit(status.code)
    }

    private static func prepareProcess() {
        // Without these signals, a closed pipe and a file that may not grow any more (`ulimit -f`) are
        // errors of the write instead of the end of the process.
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        // A private key in memory must not end in a core file.
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        // By default each thread gets a heap of its own, and what one of them frees stays there. With
        // three, two threads that compute next to the main one do not wait for each other.
        mallopt(M_ARENA_MAX, 3)
        // With a standard stream closed, the next file opened would take its number, and results
        // would be written into the database.
        for descriptor in STDIN_FILENO...STDERR_FILENO
        where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
            _ = unsafe open("/dev/null", O_RDWR)
        }
    }

    /// Files that the runtime, a database and a report have open at once: with fewer the runtime ends
    /// the process without a word.
    private static let openFiles: rlim_t = 24

    /// Raises the limit of open files where it is lower than that, and says so where it may not.
    private static func mayOpenEnoughFiles() -> Bool {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0, limit.rlim_cur < openFiles else {
            return true
        }
        limit.rlim_cur = min(openFiles, limit.rlim_max)
        if limit.rlim_cur == openFiles, unsafe setrlimit(resource, &limit) == 0 { return true }
        let message =
            "error: This process may have only \(limit.rlim_cur) files open at once; trueup needs "
            + "\(openFiles). Nothing was done. Raise the limit: \"ulimit -n 1024\", or LimitNOFILE= in "
            + "the unit.\n"
        _ = unsafe message.withCString { text in unsafe write(STDERR_FILENO, text, strlen(text)) }
        return false
    }
}
