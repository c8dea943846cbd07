import CLibcurl
import Glibc
import Synchronization

/// The loop of the transport's thread: take requests, advance transfers, deliver results, wait.
///
/// No other thread uses it.
final class CurlLoop {
    /// An upper bound while nothing is in flight; idle connections and the mailbox end the wait
    /// earlier.
    private static let longestIdleWaitMilliseconds: Int32 = 60_000

    private let mailbox: CurlMailbox
    private let settings: CurlTransport.Settings
    private let multi: CurlMultiHandle
    private var transfers: [UInt64: CurlTransfer] = [:]
    /// Answered ones, for the next requests; at most as many as were in flight at once.
    private var idle: [CurlTransfer] = []
    private var trust = ConnectionTrust()

    /// Runs until the mailbox is closed.
    static func run(mailbox: CurlMailbox, settings: CurlTransport.Settings) {
        serve(mailbox: mailbox, settings: settings)
        mailbox.loopHasEnded()
    }

    private static func serve(mailbox: CurlMailbox, settings: CurlTransport.Settings) {
        do throws(HTTPTransportError) {
            let loop = try CurlLoop(mailbox: mailbox, settings: settings)
            loop.serve()
        } catch {
            for submission in mailbox.loopEnds() {
                submission.continuation.resume(returning: .failure(error))
            }
        }
    }

    private init(
        mailbox: CurlMailbox, settings: CurlTransport.Settings
    ) throws(HTTPTransportError) {
        self.mailbox = mailbox
        self.settings = settings
        multi = try CurlMultiHandle()
        // Without the first option, streams beyond the server's limit open further connections.
        multi.set(CURLMOPT_MAX_HOST_CONNECTIONS, settings.maxConnectionsPerHost)
        multi.set(CURLMOPT_MAXCONNECTS, settings.maxIdleConnections)
    }

    private func serve() {
        mailbox.loopBegins(waker: multi.waker)
        while true {
            let mail = mailbox.take()
            for submission in mail.submissions { start(submission) }
            for number in mail.cancellations { abandon(number) }
            if mail.isClosing { break }
            multi.perform()
            deliver()
            mailbox.loopHasLooked()
            multi.poll(timeoutMilliseconds: longestWaitMilliseconds)
        }
        for number in Array(transfers.keys) { abandon(number) }
        idle = []
        for submission in mailbox.loopEnds() {
            submission.continuation.resume(returning: .failure(.cancelled))
        }
    }

    private var longestWaitMilliseconds: Int32 {
        transfers.isEmpty
            ? Self.longestIdleWaitMilliseconds
            : Int32(clamping: settings.longestWaitInFlightMilliseconds)
    }

    private func start(_ submission: CurlSubmission) {
        do throws(HTTPTransportError) {
            let transfer = try transfer(for: submission)
            if let age = trust.secondsSinceTimeout(at: .now) {
                transfer.isLast()
                try transfer.easy.avoidConnections(olderThanSeconds: age, isFresh: trust.isLost)
            }
            guard multi.add(transfer.easy) else {
                throw .connectionFailed("libcurl could not start the transfer")
            }
            transfers[submission.number] = transfer
        } catch {
            submission.continuation.resume(returning: .failure(error))
        }
    }

    private func transfer(
        for submission: CurlSubmission
    ) throws(HTTPTransportError) -> CurlTransfer {
        if let transfer = idle.popLast(), try transfer.takeUp(submission, settings: settings) {
            return transfer
        }
        return try CurlTransfer(submission, settings: settings)
    }

    private func abandon(_ number: UInt64) {
        guard let transfer = transfers.removeValue(forKey: number) else { return }
        multi.remove(transfer.easy)
        transfer.continuation.resume(returning: .failure(.cancelled))
    }

    /// Resumes all waiting tasks at the end: a resumption only queues the task for Swift's thread
    /// pool, and in a batch this needs fewer iterations of the loop.
    private func deliver() {
        var ended: [(CurlTransfer, Result<HTTPResponse, HTTPTransportError>)] = []
        while let (transfer, code) = multi.nextEnded() {
            let result = transfer.result(code)
            switch result {
            case .success: trust.responseCame()
            case .failure(.timedOut): trust.exchangeTimedOut(at: .now)
            case .failure: break
            }
            multi.remove(transfer.easy)
            transfers[transfer.number] = nil
            ended.append((transfer, result))
        }
        for (transfer, result) in ended {
            let continuation = transfer.continuation
            if case .success = result {
                transfer.rest()
                idle.append(transfer)
            }
            continuation.resume(returning: result)
        }
    }
}

/// Tracks whether open connections may be dead without notice.
///
/// A time-out ends one HTTP/2 stream, not its connection, and libcurl would send the next requests
/// over the same connection. If its network path is dead, they would all time out as well. So after
/// a time-out requests open new connections until one is answered, and older connections are closed
/// as soon as they are idle.
package struct ConnectionTrust {
    private var lastTimeout: ContinuousClock.Instant?
    package private(set) var isLost = false

    package init() {}

    package mutating func exchangeTimedOut(at now: ContinuousClock.Instant) {
        lastTimeout = now
        isLost = true
    }

    package mutating func responseCame() {
        isLost = false
    }

    /// Seconds since the last time-out; `nil` when there was none.
    package func secondsSinceTimeout(at now: ContinuousClock.Instant) -> Int? {
        lastTimeout.map { Int($0.duration(to: now).components.seconds) }
    }
}

/// A request for the transport's thread, with the task that awaits its result.
struct CurlSubmission: Sendable {
    typealias Continuation = CheckedContinuation<Result<HTTPResponse, HTTPTransportError>, Never>

    let number: UInt64
    let request: HTTPRequest
    let continuation: Continuation
}

/// The requests and cancellations that tasks leave for the transport's thread.
///
/// One wake-up covers everything that arrives until the thread looks again. Otherwise every request
/// would cost a system call and an iteration of the thread's loop.
final class CurlMailbox: Sendable {
    struct Mail {
        var submissions: [CurlSubmission] = []
        var cancellations: [UInt64] = []
        var isClosing = false
    }

    private struct State {
        var mail = Mail()
        var waker: CurlWaker?
        var isWoken = false
        var hasEnded = false
        var closers: [CheckedContinuation<Void, Never>] = []

        mutating func wake() {
            guard !isWoken, let waker else { return }
            isWoken = true
            waker.wake()
        }
    }

    private let state = Mutex(State())
    private let looks = Atomic<Int>(0)

    /// How often the thread has looked at its mail and its transfers.
    var lookCount: Int { looks.load(ordering: .relaxed) }

    func submit(_ submission: CurlSubmission) {
        let isTaken = state.withLock { state in
            guard !state.mail.isClosing else { return false }
            state.mail.submissions.append(submission)
            state.wake()
            return true
        }
        if !isTaken { submission.continuation.resume(returning: .failure(.cancelled)) }
    }

    func cancel(_ number: UInt64) {
        state.withLock { state in
            guard !state.mail.isClosing else { return }
            state.mail.cancellations.append(number)
            state.wake()
        }
    }

    /// Asks the thread to end.
    func close() {
        state.withLock { state in
            state.mail.isClosing = true
            state.wake()
        }
    }

    /// Asks the thread to end, and returns when it has released everything.
    func closeAndWait() async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                state.mail.isClosing = true
                state.wake()
                if !state.hasEnded { state.closers.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    // MARK: The thread's side

    func loopBegins(waker: CurlWaker) {
        state.withLock { $0.waker = waker }
    }

    func loopHasLooked() {
        looks.wrappingAdd(1, ordering: .relaxed)
    }

    /// Everything that arrived since the last call.
    func take() -> Mail {
        state.withLock { state in
            state.isWoken = false
            let mail = state.mail
            state.mail = Mail(isClosing: mail.isClosing)
            return mail
        }
    }

    /// Refuses new requests and drops the waker, because its handle is freed next.
    ///
    /// - Returns: Requests that were never started.
    func loopEnds() -> [CurlSubmission] {
        state.withLock { state in
            state.waker = nil
            state.mail.isClosing = true
            let left = state.mail.submissions
            state.mail.submissions = []
            return left
        }
    }

    /// The last call of the thread.
    func loopHasEnded() {
        let closers = state.withLock { state in
            state.hasEnded = true
            let closers = state.closers
            state.closers = []
            return closers
        }
        for closer in closers { closer.resume() }
    }
}

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
