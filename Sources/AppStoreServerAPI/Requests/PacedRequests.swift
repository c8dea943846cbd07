package import HTTPTransport
package import Subscriptions
import Synchronization

/// The calls of one app: paced, authorized, retried, counted.
///
/// All requests of an endpoint share its rate, its pause after a 429, its circuit breaker and its
/// limit of requests in flight; the calls of an hour they share with every process that has the same
/// books. Waiting uses a monotonic clock; the wall clock is only used where Apple states a time, and
/// for the books.
package final class PacedRequests: APISending {
    private let baseURL: String
    let transport: any HTTPTransport
    let tokens: any AuthorizationTokens
    let time: MonotonicTime
    let deadline: Duration?
    let wallClock: @Sendable () -> Timestamp
    let hear: @Sendable (PacingNotice) -> Void
    /// What people have ordered of the pace; asked before every request.
    let order: @Sendable () -> PaceOrder
    /// `nil` where nobody else uses the same quota: the limiters count what this process does.
    let booked: BookedCalls?
    let gates: PerEndpoint<ConcurrencyGate>
    let state: Mutex<RequestState>

    /// Creates the sender of one app; nothing is sent yet.
    ///
    /// `concurrencyLimit` limits the requests in flight of each endpoint; the default suffices for
    /// Apple's 50 a second where an answer takes two seconds. Every call is entered in
    /// `book`, where there is one, before it is made; `earlierRefusals` are answers 429 that earlier
    /// processes got. A run waits for an endpoint that does not work for at most `maxOutage`. `hear`
    /// gets notices about every wait and what else changes the pace. `order` says what people want of
    /// the pace now; it is asked before every request. No wait goes beyond `deadline`.
    /// `seed` makes the jitter of retries repeatable.
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
            "Warning: " + skew + " The times of this run are off by as much, and Apple refuses the "
                + "tokens of a clock that is further off."
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
