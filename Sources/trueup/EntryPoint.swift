import CAllocator
import Glibc
import Subscriptions

/// Where the process begins and ends.
@main
enum EntryPoint {
    static func main() async {
        prepareProcess()
        let arguments = Array(CommandLine.arguments.dropFirst())
        let invocation = Invocation.process()
        HelpLines.ensureWidth(in: invocation)
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
}
