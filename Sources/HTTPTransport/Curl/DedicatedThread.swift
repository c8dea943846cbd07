import Glibc

/// A system thread outside Swift's thread pool, joined when its owner is destroyed.
///
/// For the blocking calls of libcurl: Swift's pool has only as many threads as cores.
struct DedicatedThread: ~Copyable {
    private let thread: pthread_t

    /// `nil` when the system refuses another thread.
    ///
    /// All signals are blocked in it: the main thread handles them, and a write to a closed
    /// connection must not end the process with SIGPIPE.
    init?(running body: @escaping @Sendable () -> Void) {
        let work = unsafe Unmanaged.passRetained(Work(body))
        var thread = pthread_t()
        let result = unsafe pthread_create(
            &thread, nil,
            { context in
                var all = sigset_t()
                unsafe sigfillset(&all)
                unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
                guard let context = unsafe context else { return nil }
                unsafe Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
                return nil
            }, work.toOpaque())
        guard result == 0 else {
            unsafe work.release()
            return nil
        }
        self.thread = thread
    }

    deinit {
        pthread_join(thread, nil)
    }

    private final class Work: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }
}
