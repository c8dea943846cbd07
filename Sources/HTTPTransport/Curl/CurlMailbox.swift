import Synchronization

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
