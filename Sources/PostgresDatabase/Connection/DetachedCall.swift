#if PostgreSQL
    import CPostgres
    import Glibc
    import Synchronization

    /// A call of libpq that blocks, on a thread of its own, so that its caller need not wait for
    /// its end.
    enum DetachedCall {
        /// Starts a call and does not wait for it.
        ///
        /// All signals are blocked in its thread: the main thread handles them.
        ///
        /// - Returns: Whether the system had a thread for it.
        static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
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
                return false
            }
            pthread_detach(thread)
            return true
        }

        private final class Work: Sendable {
            let body: @Sendable () -> Void

            init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        }
    }

    /// A connection of libpq that one thread hands to another.
    @safe
    struct HandedConnection: @unchecked Sendable {
        let handle: OpaquePointer?
    }

    /// Opens a connection; its caller waits for it no longer than its patience lasts.
    final class OpeningConnection: Sendable {
        private enum State {
            case opening
            case opened(HandedConnection)
            /// No caller waits for it: the thread closes what it opens.
            case abandoned
        }

        private let state = Mutex(State.opening)

        /// - Parameters:
        ///   - parameters: libpq's keywords and values.
        ///   - end: When to give up, asked again and again.
        /// - Returns: `nil` where it was given up.
        static func open(
            _ parameters: [(key: String, value: String)],
            until end: () -> ContinuousClock.Instant
        ) -> HandedConnection? {
            let opening = OpeningConnection()
            let isStarted = DetachedCall.start { opening.run(parameters) }
            guard isStarted else { return unsafe HandedConnection(handle: nil) }
            var pause: UInt32 = 500
            while true {
                if let opened = opening.opened { return opened }
                guard ContinuousClock.now < end() else { return opening.abandon() }
                usleep(pause)
                pause = min(20_000, pause * 2)
            }
        }

        private func run(_ parameters: [(key: String, value: String)]) {
            let opened = unsafe LentStrings.with(parameters.map { Optional($0.key) }) { keywords in
                unsafe LentStrings.with(parameters.map { Optional($0.value) }) { values in
                    unsafe HandedConnection(handle: PQconnectdbParams(keywords, values, 0))
                }
            }
            let isWanted = state.withLock { state in
                if case .abandoned = state { return false }
                state = .opened(opened)
                return true
            }
            if !isWanted { unsafe PQfinish(opened.handle) }
        }

        private var opened: HandedConnection? {
            state.withLock { if case .opened(let opened) = $0 { opened } else { nil } }
        }

        /// Gives the call up; returns the connection if it was opened at the last moment.
        private func abandon() -> HandedConnection? {
            state.withLock { state in
                if case .opened(let opened) = state { return opened }
                state = .abandoned
                return nil
            }
        }
    }
#endif
