package import HTTPTransport
import JSONWebSignature
package import Subscriptions
import Synchronization

/// The calls of one app: paced, authorized, retried, counted.
///
/// All requests of an endpoint share its rate, its pause after a 429, its circuit breaker and its
/// limit of requests in flight; the calls of an hour they share with every process that has the
/// same books. Waiting uses a monotonic clock; the wall clock is only used where Apple states a
/// time, and for the books.
package final class PacedRequests: APISending {
    private let baseURL: String
    let transport: any HTTPTransport
    let tokens: any AuthorizationTokens
    let time: MonotonicTime
    let deadline: Duration?
    let wallClock: @Sendable () -> Timestamp
    let hear: @Sendable (PacingNotice) -> Void
    /// Returns the pace that people have ordered; called before every request.
    let order: @Sendable () -> PaceOrder
    /// `nil` where no other process uses the same quota: the limiters count what this process does.
    let booked: BookedCalls?
    let gates: PerEndpoint<ConcurrencyGate>
    let state: Mutex<RequestState>

    /// Creates the sender of one app; nothing is sent yet.
    ///
    /// `concurrencyLimit` limits the requests in flight of each endpoint; the default suffices for
    /// Apple's 50 a second where an answer takes two seconds. Every call is entered in
    /// `book`, where there is one, before it is made; `earlierRefusals` are answers 429 that
    /// earlier processes got. A run waits for an endpoint that does not work for at most
    /// `maxOutage`. `hear` gets notices about every wait and what else changes the pace. `order`
    /// says what people want of the pace now; it is asked before every request. No wait goes beyond
    /// `deadline`. `seed` makes the jitter of retries repeatable.
    package init<C: Clock>(
        app: AppIdentity, keyID: String, baseURL: String, transport: any HTTPTransport,
        tokens: any AuthorizationTokens, rates: QuotaRates,
        book: (any QuotaBook)? = nil, earlierRefusals: [Endpoint: QuotaRefusal] = [:],
        concurrencyLimit: Int = 100,
        maxOutage: Duration = .seconds(1800), deadline: C.Instant? = nil,
        clock: C = ContinuousClock(), wallClock: @escaping @Sendable () -> Timestamp,
        hear: @escaping @Sendable (PacingNotice) -> Void = { _ in },
        order: @escaping @Sendable () -> PaceOrder = { PaceOrder() },
        seed: UInt64 = .random(in: 0...UInt64.max)
    ) where C.Duration == Duration {
        self.baseURL = baseURL
        self.transport = transport
        self.tokens = tokens
        let start = clock.now
        time = MonotonicTime(clock, start: start)
        self.deadline = deadline.map { start.duration(to: $0) }
        self.wallClock = wallClock
        self.hear = hear
        self.order = order
        booked = book.map { BookedCalls(book: $0, rates: rates, now: wallClock) }
        gates = PerEndpoint { _ in ConcurrencyGate(limit: concurrencyLimit) }
        var state = RequestState(
            app: app, keyID: keyID, host: Self.host(of: baseURL), rates: rates,
            maxOutage: maxOutage, deadline: self.deadline, seed: seed)
        for (endpoint, refusal) in earlierRefusals {
            state.wasRateLimitedElsewhere(refusal, at: endpoint, now: .zero, wallClock: wallClock())
        }
        self.state = Mutex(state)
    }

    /// Gives back what was booked ahead and not used; no call may be made afterwards.
    package func end() async {
        await booked?.giveBackRest()
    }

    package func send(_ request: APIRequest) async throws(RunStop) -> APIOutcome {
        let endpoint = request.endpoint
        state.withLock { $0.callWasMade(endpoint) }
        let message = request.http(baseURL: baseURL)
        var progress = RequestState.Progress()
        defer { state.withLock { $0.callEnded(endpoint, progress) } }
        var refusedToken: String?
        while true {
            if progress.attempts > 0,
                let why = state.withLock({ $0.postpone(endpoint, &progress) })
            {
                return .unavailable(why)
            }
            let attempt = try await attempt(
                message, at: endpoint, refusedToken: refusedToken, &progress)
            refusedToken = nil
            switch attempt.step {
            case .done(let outcome): return outcome
            case .again: continue
            case .againAfter(let pause, let cause):
                let end = time.now() + pause
                if isPastDeadline(end) {
                    return .unavailable("\(cause); there is no time left to ask again")
                }
                try await wait(until: end)
            case .renewToken: refusedToken = attempt.token
            }
        }
    }

    package func givenUp(_ endpoint: Endpoint) -> String? {
        state.withLock { $0.givenUp(endpoint) }
    }

    package func callCounts() -> [CallCount] {
        state.withLock { $0.counter.counts }
    }

    package func remarks() -> [String] {
        guard let skew = state.withLock({ $0.clockSkew.sentence }) else { return [] }
        return [
            "Warning: " + skew + " The times of this run are wrong by as much. If the difference "
                + "grows, Apple refuses the run's tokens."
        ]
    }

    package func countUndecodable(_ endpoint: Endpoint) {
        state.withLock { $0.counter.answerWasUndecodable(endpoint) }
    }

    private static func host(of baseURL: String) -> String {
        let start = baseURL.firstRange(of: "://")?.upperBound ?? baseURL.startIndex
        return String(baseURL[start...].prefix { $0 != "/" })
    }
}

/// Any clock, as durations since a fixed start, which pacing calculates with.
struct MonotonicTime: Sendable {
    let now: @Sendable () -> Duration
    let sleep: @Sendable (_ until: Duration) async throws -> Void

    init<C: Clock>(_ clock: C, start: C.Instant) where C.Duration == Duration {
        now = { start.duration(to: clock.now) }
        sleep = { until in
            try await clock.sleep(until: start.advanced(by: until), tolerance: .zero)
        }
    }
}

/// One attempt of a call: admission, token, exchange.
extension PacedRequests {
    private enum Admitted {
        case starting(EndpointLimiter.Start)
        case never(String)
    }

    /// Waits for admission and sends once.
    ///
    /// The token is made when the request is sent, however long it waited, and differs from
    /// `refusedToken`, which Apple refused. The result contains the used token, in case that it is
    /// refused as well.
    func attempt(
        _ message: HTTPRequest, at endpoint: Endpoint, refusedToken: String?,
        _ progress: inout RequestState.Progress
    ) async throws(RunStop) -> (step: RequestState.Step, token: String) {
        let gate = gates[endpoint]
        try await gate.enter()
        defer { gate.leave() }
        let start: EndpointLimiter.Start
        switch try await admission(to: endpoint) {
        case .starting(let admitted): start = admitted
        case .never(let text): return (.done(.unavailable(text)), "")
        }
        let token: String
        do throws(RunStop) {
            token = try self.token(after: refusedToken)
        } catch {
            let now = time.now()
            state.withLock { $0.requestWasAbandoned(endpoint, at: now, start) }
            throw error
        }
        var sent = message
        if case .check(let answered) = start { sent = answered }
        let attempt = RequestState.Attempt(
            endpoint: endpoint, start: start, message: sent, token: token,
            isTokenRenewed: refusedToken != nil)
        let (step, refusal) = try nextStep(
            after: attempt, await exchange(sent, token: token), &progress)
        if let refusal { await booked?.keep(refusal, of: endpoint) }
        guard start.isCheck else { return (step, token) }
        // The answer is not used to a check; now the call itself is tried.
        if case .renewToken = step { return (step, token) }
        return (.again, token)
    }

    /// Updates the shared state with the result, and decides what the call does next; with it a 429
    /// that later processes have to know of.
    private func nextStep(
        after attempt: RequestState.Attempt, _ result: Result<HTTPResponse, HTTPTransportError>,
        _ progress: inout RequestState.Progress
    ) throws(RunStop) -> (step: RequestState.Step, refusal: QuotaRefusal?) {
        let now = time.now()
        let wallClock = wallClock()
        var changed = progress
        var notices: [PacingNotice] = []
        defer {
            if !attempt.start.isCheck { progress = changed }
            for notice in notices { hear(notice) }
        }
        return try state.withLock { state throws(RunStop) in
            defer { notices = state.takeNotices() }
            switch result {
            case .success(let response):
                let step = try state.responseCame(
                    response, to: attempt, at: now, wallClock: wallClock, &changed)
                return (step, state.takeRefusal(attempt.endpoint))
            case .failure(let error):
                let step = try state.transferFailed(
                    error, of: attempt, at: now, wallClock: wallClock, &changed)
                // The deadline ended the transfer, and no further attempt would be made.
                if isPastDeadline(now) { throw RunStop.deadlineReached }
                return (step, state.takeRefusal(attempt.endpoint))
            }
        }
    }

    private func exchange(
        _ message: HTTPRequest, token: String
    ) async -> Result<HTTPResponse, HTTPTransportError> {
        var message = message
        message.headers.append(("Authorization", "Bearer \(token)"))
        // A request that was sent in time may be answered shortly after the deadline.
        message.timeLimit = deadline.map { max(.zero, $0 - time.now()) + Self.lastAnswers }
        do throws(HTTPTransportError) {
            return .success(try await transport.send(message))
        } catch {
            return .failure(error)
        }
    }

    /// How long after the deadline the answer to an earlier request may come.
    private static let lastAnswers: Duration = .seconds(2)

    /// Waits for a slot of the endpoint, and for as long as the endpoint is paused or broken; then
    /// books the call.
    private func admission(to endpoint: Endpoint) async throws(RunStop) -> Admitted {
        while true {
            if Task.isCancelled { throw .cancelled }
            let now = time.now()
            if isPastDeadline(now) { throw .deadlineReached }
            let order = self.order()
            let (admission, notices) = try state.withLock { state throws(RunStop) in
                (
                    try state.requestWasWanted(endpoint, at: now, under: order),
                    state.takeNotices()
                )
            }
            for notice in notices { hear(notice) }
            switch admission {
            case .refused(let text):
                return .never(
                    "\(endpoint.rawValue) does not work, and this run has given it up: \(text)")
            case .broken(let until), .postponed(let until):
                // Not the quota: the endpoint does not work, and no time is left to wait for it.
                if isPastDeadline(until) { throw .deadlineReached }
                try await wait(until: until)
            case .paused(let until), .usedUp(let until):
                try await waitAsOrdered(until: until)
            // The deadline continues, and ends a paused run as it ends any other.
            case .held(let until): try await wait(until: until)
            case .slot(let slot):
                try await wait(for: slot, of: endpoint, at: now)
                if let admitted = try await bookAndStart(endpoint, slot, givenUnder: order) {
                    return admitted
                }
            }
        }
    }

    private func wait(
        for slot: TokenBucket.Slot, of endpoint: Endpoint, at now: Duration
    ) async throws(RunStop) {
        guard slot.time > now else { return }
        let wallClock = wallClock()
        state.withLock {
            $0.noteTurn(slot, of: endpoint, at: now, wallClock: wallClock)
        }
        tellNotices()
        if slot.isLimitReached { return try await waitAsOrdered(until: slot.time) }
        // The share of the quota is too small to finish before the deadline.
        if isPastDeadline(slot.time) { throw .deadlineReached }
        try await wait(until: slot.time)
    }

    /// Books a call whose turn has come; `nil` when it must ask for admission again.
    private func bookAndStart(
        _ endpoint: Endpoint, _ slot: TokenBucket.Slot, givenUnder earlier: PaceOrder
    ) async throws(RunStop) -> Admitted? {
        let turn = time.now()
        let order = self.order()
        let isHeldUp = state.withLock { state in
            guard order.revokes(earlier) || state.isHeldUp(endpoint, at: turn) else { return false }
            state.withLimiter(endpoint) { $0.slotWasGivenBack(slot) }
            return true
        }
        if isHeldUp { return nil }
        switch await booked?.take(endpoint) ?? .booked {
        case .booked: break
        case .failed(let failure):
            let end = state.withLock { state in
                state.withLimiter(endpoint) { $0.slotWasGivenBack(slot) }
                return failure.end.map { state.wasStopped(.store($0)) }
            }
            if let end { throw end }
            return .never(
                "the call could not be recorded in the database, so it was not made: \(failure.text)"
            )
        case .usedUp(let grant):
            let now = time.now()
            let wallClock = wallClock()
            let wait = grant.nextFree?.milliseconds(since: wallClock) ?? 0
            let end = now + .milliseconds(max(1, wait))
            state.withLock { state in
                guard let refusal = grant.refusal else {
                    return state.quotaWasUsedUp(
                        endpoint, callsPerHour: grant.limit, until: end, slot: slot, at: now,
                        wallClock: wallClock)
                }
                state.withLimiter(endpoint) { $0.slotWasGivenBack(slot) }
                state.wasRateLimitedElsewhere(
                    refusal, at: endpoint, now: now, wallClock: wallClock)
                state.noteRate(of: endpoint, at: now)
            }
            tellNotices()
            return nil
        }
        let now = time.now()
        let start = try state.withLock { state throws(RunStop) in
            try state.slotCame(endpoint, at: now)
        }
        if let start { return .starting(start) }
        state.withLock { $0.withLimiter(endpoint) { $0.slotWasGivenBack(slot) } }
        booked?.giveBack(endpoint)
        return nil
    }

    /// Tells what the shared state has to tell, outside its lock.
    private func tellNotices() {
        for notice in state.withLock({ $0.takeNotices() }) { hear(notice) }
    }

    /// Waits as a 429 or the limit of the hour demands.
    private func waitAsOrdered(until end: Duration) async throws(RunStop) {
        guard !isPastDeadline(end) else {
            throw .quotaWaitPastDeadline(until: wallClock().adding(end - time.now()))
        }
        try await wait(until: end)
    }

    func isPastDeadline(_ moment: Duration) -> Bool {
        deadline.map { moment > $0 } ?? false
    }

    func wait(until end: Duration) async throws(RunStop) {
        do {
            try await time.sleep(end)
        } catch {
            throw .cancelled
        }
    }

    /// The current token, or another one than the refused one, the same for all calls that were
    /// refused with it.
    private func token(after refused: String?) throws(RunStop) -> String {
        do throws(JSONWebSignatureError) {
            guard let refused else { return try tokens.current() }
            let token = try tokens.renewed(after: refused)
            state.withLock { $0.unprovenToken = token }
            return token
        } catch {
            throw state.withLock {
                $0.wasStopped(.denied("The key could not sign a token: \(error)."))
            }
        }
    }
}

/// Admits a bounded number of tasks at once; the others wait in the order of their arrival.
final class ConcurrencyGate: Sendable {
    private typealias Waiter = (number: Int, continuation: CheckedContinuation<Bool, Never>)

    private struct State {
        var free: Int
        var lastNumber = 0
        var waiters: [Waiter] = []
    }

    private let state: Mutex<State>

    init(limit: Int) {
        precondition(limit > 0, "the limit must allow a call")
        state = Mutex(State(free: limit))
    }

    /// Returns inside; every entry must be followed by one `leave`.
    ///
    /// - Throws: `cancelled`, and then the task is not inside.
    func enter() async throws(RunStop) {
        if Task.isCancelled { throw .cancelled }
        if enterAtOnce() { return }
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let isInside = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isInside: Bool? = state.withLock { state in
                    // Cancelled before it was queued: the handler found no waiter to resume.
                    if Task.isCancelled { return false }
                    if state.free > 0 {
                        state.free -= 1
                        return true
                    }
                    state.waiters.append((number, continuation))
                    return nil
                }
                if let isInside { continuation.resume(returning: isInside) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiters.firstIndex { $0.number == number }.map {
                    state.waiters.remove(at: $0)
                }
            }
            waiter?.continuation.resume(returning: false)
        }
        guard isInside else { throw .cancelled }
    }

    /// Nearly every task finds a free place, and then needs neither a number nor a continuation.
    private func enterAtOnce() -> Bool {
        state.withLock { state in
            guard state.free > 0 else { return false }
            state.free -= 1
            return true
        }
    }

    func leave() {
        let next: Waiter? = state.withLock { state in
            guard state.waiters.isEmpty else { return state.waiters.removeFirst() }
            state.free += 1
            return nil
        }
        next?.continuation.resume(returning: true)
    }
}
