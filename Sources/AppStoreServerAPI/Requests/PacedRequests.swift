package import HTTPTransport
package import Subscriptions
import Synchronization

/// The calls of one app: paced, authorized, retried, counted.
///
/// All requests of an endpoint share its rate, its pause after a 429, its breaker and its bound of
/// requests in flight. Waiting uses a clock that never jumps; the wall clock is only asked where
/// Apple names a moment.
package final class PacedRequests: APISending {
    private let baseURL: String
    let transport: any HTTPTransport
    let tokens: any AuthorizationTokens
    let time: MonotonicTime
    let deadline: Duration?
    let wallClock: @Sendable () -> Timestamp
    let gates: [Endpoint: ConcurrencyGate]
    let state: Mutex<RequestState>

    /// Makes the calls of one app; nothing is sent yet.
    ///
    /// `concurrencyLimit` bounds the requests in flight of each endpoint. No wait passes
    /// `deadline`. `seed` makes the jitter of retries repeatable.
    package init<C: Clock>(
        app: AppIdentity, keyID: String, baseURL: String, transport: any HTTPTransport,
        tokens: any AuthorizationTokens, rates: QuotaRates, concurrencyLimit: Int = 32,
        deadline: C.Instant? = nil, clock: C = ContinuousClock(),
        wallClock: @escaping @Sendable () -> Timestamp,
        seed: UInt64 = .random(in: 0...UInt64.max)
    ) where C.Duration == Duration {
        self.baseURL = baseURL
        self.transport = transport
        self.tokens = tokens
        let start = clock.now
        time = MonotonicTime(clock, start: start)
        self.deadline = deadline.map { start.duration(to: $0) }
        self.wallClock = wallClock
        gates = Dictionary(
            uniqueKeysWithValues: Endpoint.allCases.map {
                ($0, ConcurrencyGate(limit: concurrencyLimit))
            })
        state = Mutex(RequestState(app: app, keyID: keyID, rates: rates, seed: seed))
    }

    package func send(_ request: APIRequest) async throws(RunStop) -> APIOutcome {
        state.withLock { $0.callWasMade() }
        let message = request.http(baseURL: baseURL)
        var progress = RequestState.Progress()
        var renewedToken: String?
        while true {
            let attempt = try await attempt(
                message, at: request.endpoint, renewedToken: renewedToken, &progress)
            renewedToken = nil
            switch attempt.step {
            case .done(let outcome): return outcome
            case .again: continue
            case .againAfter(let pause):
                let end = time.now() + pause
                if isPastDeadline(end) {
                    return .unavailable("the next attempt would come after the deadline")
                }
                try await wait(until: end)
            case .renewToken:
                renewedToken = try newToken(after: attempt.token)
            }
        }
    }

    package func callCounts() -> [CallCount] {
        state.withLock { $0.counter.counts }
    }

    package func countUndecodable(_ endpoint: Endpoint) {
        state.withLock { $0.counter.answerWasUndecodable(endpoint) }
    }
}
