#if PostgreSQL
    import CPostgres
    import Glibc
    package import ServerConnections
    import Synchronization

    /// A session over libpq.
    ///
    /// libpq's own calls wait without limit where a server stops answering. So a connection is
    /// opened on a thread of its own, and statements are sent and their answers read without
    /// blocking.
    package final class LibpqSession: ServerSession {
        private let connection: Mutex<LibpqConnection>

        /// Connects.
        ///
        /// - Parameters:
        ///   - address: Which server; a password comes from where libpq looks for one.
        ///   - patience: How long an answer is waited for.
        /// - Throws: Why no server answered, or why it refuses the user.
        package init(
            _ address: PostgresAddress, patience: ServerPatience = .ofProcess
        ) throws(ServerFailure) {
            connection = Mutex(try LibpqConnection(address, patience))
        }

        package func isUsed(for doing: String) {
            connection.withLock { $0.doing = doing }
        }

        package func run(
            _ sql: String, _ parameters: [String?]
        ) throws(ServerFailure) -> ServerRows {
            try connection.withLock { connection throws(ServerFailure) in
                try connection.run(sql, parameters)
            }
        }

        package func script(_ sql: String) throws(ServerFailure) -> ServerRows {
            try connection.withLock { connection throws(ServerFailure) in
                try connection.script(sql)
            }
        }
    }

    /// Owner of one connection of libpq; used by one thread at a time.
    @safe
    private struct LibpqConnection: ~Copyable {
        private let handle: OpaquePointer
        private let patience: ServerPatience
        private let server: String
        /// To follow "for".
        var doing = "an answer"

        /// The longest pause between two looks for an answer or a signal.
        private static let longestPollMilliseconds: Int64 = 200

        init(
            _ address: PostgresAddress, _ patience: ServerPatience
        ) throws(ServerFailure) {
            server = address.description
            self.patience = patience
            let begin = ContinuousClock.now
            let wait = patience.begins("\(server) (connecting)")
            let opened = OpeningConnection.open(address.parameters.sorted { $0.key < $1.key }) {
                patience.end(ofWaitSince: begin, usual: address.longestConnecting)
            }
            patience.ends(wait, isAnswered: opened != nil)
            guard let opened else {
                throw Self.unanswered(after: begin, patience)
            }
            guard let handle = unsafe opened.handle else {
                throw ServerFailure(
                    state: SQLState(""), endsSession: true, words: "no memory for a connection")
            }
            guard unsafe PQstatus(handle) == CONNECTION_OK else {
                let words = unsafe Self.line(PQerrorMessage(handle))
                unsafe PQfinish(handle)
                throw ServerFailure(state: SQLState(""), endsSession: true, words: words)
            }
            unsafe shim_keep_quiet(handle)
            // Also closing it must not wait.
            _ = unsafe PQsetnonblocking(handle, 1)
            unsafe self.handle = handle
        }

        deinit { unsafe PQfinish(handle) }

        func run(_ sql: String, _ parameters: [String?]) throws(ServerFailure) -> ServerRows {
            guard !parameters.contains(where: { $0?.utf8.contains(0) == true }),
                let count = Int32(exactly: parameters.count)
            else {
                throw ServerFailure(
                    state: SQLState("22021"), words: "a value holds a byte that no text may hold")
            }
            let isSent = unsafe withCStrings(parameters) { values in
                unsafe PQsendQueryParams(handle, sql, count, nil, values, nil, nil, 0) == 1
            }
            return try rows(ofSent: isSent)
        }

        func script(_ sql: String) throws(ServerFailure) -> ServerRows {
            try rows(ofSent: unsafe PQsendQuery(handle, sql) == 1)
        }

        // MARK: Waiting

        private func rows(ofSent isSent: Bool) throws(ServerFailure) -> ServerRows {
            guard isSent else { return try unsafe rows(of: nil) }
            let begin = ContinuousClock.now
            let wait = patience.begins("\(server) (\(doing))")
            var last: OpaquePointer?
            var endOfCancelling: ContinuousClock.Instant?
            while true {
                guard isAnswered(until: { endOfCancelling ?? patience.end(ofWaitSince: begin) })
                else {
                    guard endOfCancelling != nil else {
                        cancel()
                        endOfCancelling = .now + patience.cancellation
                        continue
                    }
                    patience.ends(wait, isAnswered: false)
                    if let last = unsafe last { unsafe PQclear(last) }
                    // What is still unsent must not keep the end of the session waiting either.
                    _ = unsafe shutdown(PQsocket(handle), Int32(SHUT_RDWR))
                    throw Self.unanswered(after: begin, patience)
                }
                guard let next = unsafe PQgetResult(handle) else { break }
                if let former = unsafe last { unsafe PQclear(former) }
                unsafe last = next
            }
            patience.ends(wait, isAnswered: true)
            guard endOfCancelling != nil, patience.isStopped, let result = unsafe last,
                unsafe PQresultStatus(result) == PGRES_FATAL_ERROR
            else { return try unsafe rows(of: last) }
            unsafe PQclear(result)
            throw ServerFailure(
                state: .stopped, endsSession: unsafe PQstatus(handle) != CONNECTION_OK,
                words: "the statement was cancelled")
        }

        private static func unanswered(
            after begin: ContinuousClock.Instant, _ patience: ServerPatience
        ) -> ServerFailure {
            let seconds = Int(begin.duration(to: .now) / .seconds(1))
            return ServerFailure(
                state: patience.isStopped ? .stopped : SQLState(""), endsSession: true,
                words: "no answer for \(seconds) s, so the session was given up")
        }

        /// Waits until the next result is here, or the end of all; a connection that is lost has an
        /// answer as well: its error.
        ///
        /// - Parameter end: When to give up; asked again and again, because a signal moves it
        ///   forward.
        /// - Returns: `false` where it was given up.
        private func isAnswered(until end: () -> ContinuousClock.Instant) -> Bool {
            while true {
                let unsent = unsafe PQflush(handle)
                guard unsent >= 0, unsafe PQisBusy(handle) == 1 || unsent > 0 else { return true }
                let left = ContinuousClock.now.duration(to: end())
                guard left > .zero else { return false }
                let milliseconds = min(
                    Self.longestPollMilliseconds, max(1, Int64(left / .milliseconds(1))))
                var descriptor = pollfd(
                    fd: unsafe PQsocket(handle),
                    events: Int16(unsent > 0 ? POLLIN | POLLOUT : POLLIN), revents: 0)
                guard unsafe poll(&descriptor, 1, Int32(milliseconds)) > 0 else { continue }
                guard unsafe PQconsumeInput(handle) == 1 else { return true }
            }
        }

        /// Asks the server through a second connection to end the statement, and does not wait for
        /// that.
        private func cancel() {
            let request = unsafe HandedPointer(handle: PQgetCancel(handle))
            _ = DetachedCall.start {
                guard let request = unsafe request.handle else { return }
                unsafe shim_cancel(request)
                unsafe PQfreeCancel(request)
            }
        }

        // MARK: Results

        private func rows(of result: OpaquePointer?) throws(ServerFailure) -> ServerRows {
            guard let result = unsafe result else {
                throw ServerFailure(
                    state: SQLState(""), endsSession: unsafe PQstatus(handle) != CONNECTION_OK,
                    words: unsafe Self.line(PQerrorMessage(handle)))
            }
            defer { unsafe PQclear(result) }
            switch unsafe PQresultStatus(result) {
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY:
                return unsafe Self.copy(of: result)
            default:
                throw unsafe failure(of: result)
            }
        }

        private func failure(of result: OpaquePointer) -> ServerFailure {
            let state = unsafe shim_sql_state(result).map { unsafe String(cString: $0) } ?? ""
            // What has no state is libpq's own: where a server says that it shuts down and closes,
            // libpq calls the connection good until it is used once more.
            let isOver = unsafe PQstatus(handle) != CONNECTION_OK || state.isEmpty
            let words =
                unsafe shim_primary_message(result).map { unsafe Self.line($0) }
                ?? (unsafe Self.line(PQerrorMessage(handle)))
            return ServerFailure(
                state: SQLState(state), endsSession: isOver,
                words: Self.withoutValues(words, state: state))
        }

        private static func copy(of result: OpaquePointer) -> ServerRows {
            let (rows, columns) = unsafe (PQntuples(result), PQnfields(result))
            var copied = ServerRows(
                affected: Int(unsafe String(cString: PQcmdTuples(result))) ?? 0,
                tag: unsafe String(cString: PQcmdStatus(result)))
            copied.rows.reserveCapacity(Int(rows))
            for row in 0..<max(0, rows) {
                copied.rows.append(
                    (0..<max(0, columns)).map { column in
                        guard unsafe PQgetisnull(result, row, column) == 0,
                            let value = unsafe PQgetvalue(result, row, column)
                        else { return nil }
                        return unsafe String(cString: value)
                    })
            }
            return copied
        }

        /// A text of libpq in one line.
        private static func line(_ text: UnsafePointer<CChar>?) -> String {
            guard let text = unsafe text else { return "no message" }
            return unsafe String(cString: text).split(whereSeparator: \.isNewline)
                .joined(separator: " ")
        }

        /// Errors about a value repeat it behind their first quotation mark.
        private static func withoutValues(_ words: String, state: String) -> String {
            guard state.hasPrefix("22") else { return words }
            return String(words.prefix { $0 != "\"" })
        }
    }

    /// Lends texts as C strings for the time of a call, ended by a null pointer.
    private func withCStrings<Value>(
        _ texts: [String?], _ use: (UnsafePointer<UnsafePointer<CChar>?>?) -> Value
    ) -> Value {
        var owned: [UnsafeMutablePointer<CChar>?] = unsafe texts.map { text in
            unsafe text.flatMap { text in
                let bytes = Array(text.utf8CString)
                let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
                unsafe copy.initialize(from: bytes, count: bytes.count)
                return unsafe copy
            }
        }
        defer { for index in unsafe owned.indices { unsafe owned[index]?.deallocate() } }
        unsafe owned.append(nil)
        let lent = unsafe owned.map { unsafe UnsafePointer($0) }
        return unsafe lent.withUnsafeBufferPointer { unsafe use($0.baseAddress) }
    }

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

    /// A connection or request of libpq that one thread hands to another.
    @safe
    struct HandedPointer: @unchecked Sendable {
        let handle: OpaquePointer?
    }

    /// Opens a connection; its caller waits for it no longer than its patience lasts.
    final class OpeningConnection: Sendable {
        private enum State {
            case opening
            case opened(HandedPointer)
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
        ) -> HandedPointer? {
            let opening = OpeningConnection()
            let isStarted = DetachedCall.start { opening.run(parameters) }
            guard isStarted else { return unsafe HandedPointer(handle: nil) }
            var pause: UInt32 = 500
            while true {
                if let opened = opening.opened { return opened }
                guard ContinuousClock.now < end() else { return opening.abandon() }
                usleep(pause)
                pause = min(20_000, pause * 2)
            }
        }

        private func run(_ parameters: [(key: String, value: String)]) {
            let opened = unsafe withCStrings(parameters.map { Optional($0.key) }) { keywords in
                unsafe withCStrings(parameters.map { Optional($0.value) }) { values in
                    unsafe HandedPointer(handle: PQconnectdbParams(keywords, values, 0))
                }
            }
            let isWanted = state.withLock { state in
                if case .abandoned = state { return false }
                state = .opened(opened)
                return true
            }
            if !isWanted { unsafe PQfinish(opened.handle) }
        }

        private var opened: HandedPointer? {
            state.withLock { if case .opened(let opened) = $0 { opened } else { nil } }
        }

        /// Gives the call up; returns the connection if it was opened at the last moment.
        private func abandon() -> HandedPointer? {
            state.withLock { state in
                if case .opened(let opened) = state { return opened }
                state = .abandoned
                return nil
            }
        }
    }
#endif
