import HTTPTransport
import Subscriptions

/// What the requests of one app have in common, and every decision that depends on it.
///
/// Pure: times and random numbers come in, the next step goes out. `PacedRequests` holds it under
/// a lock and does what it says.
struct RequestState {
    /// What a call does after an attempt.
    enum Step: Sendable {
        case done(APIOutcome)
        /// At once, when the endpoint admits it.
        case again
        case againAfter(Duration)
        /// With another token than the refused one.
        case renewToken
    }

    /// Where one call stands.
    struct Progress: Sendable {
        var attempts = 0
        var hasReplacedConnection = false
    }

    /// Apple's "errors to retry", complete.
    static let policy = RetryPolicy(retriedCodes: [4_040_002, 4_040_004, 4_040_006, 5_000_001])

    let app: AppIdentity
    let keyID: String
    private(set) var stop: RunStop?
    var counter = CallCounter()
    /// A token made because another was refused, until Apple accepts it; never printed.
    var unprovenToken: String?
    private var lanes: [Endpoint: EndpointLane]
    private var budget = RetryBudget()
    private var generator: SeededGenerator

    init(app: AppIdentity, keyID: String, rates: QuotaRates, seed: UInt64) {
        self.app = app
        self.keyID = keyID
        lanes = Dictionary(
            uniqueKeysWithValues: Endpoint.allCases.map {
                ($0, EndpointLane(requestsPerSecond: rates.perSecond(of: $0)))
            })
        generator = SeededGenerator(seed: seed)
    }

    mutating func callWasMade() {
        budget.callWasMade()
    }

    /// The run ends; the first reason stays.
    ///
    /// - Returns: the reason that every call throws from now on.
    mutating func wasStopped(_ reason: RunStop) -> RunStop {
        let first = stop ?? reason
        stop = first
        return first
    }

    mutating func requestWasWanted(
        _ endpoint: Endpoint, at now: Duration
    ) throws(RunStop) -> EndpointLane.Admission {
        if let stop { throw stop }
        return withLane(endpoint) { $0.requestWasWanted(at: now) }
    }

    mutating func slotCame(
        _ endpoint: Endpoint, at now: Duration
    ) throws(RunStop) -> EndpointLane.Start? {
        if let stop { throw stop }
        return withLane(endpoint) { $0.slotCame(at: now) }
    }

    mutating func requestWasAbandoned(
        _ endpoint: Endpoint, at now: Duration, _ start: EndpointLane.Start
    ) {
        withLane(endpoint) { $0.requestWasAbandoned(at: now, start) }
    }

    func isTrusted(_ endpoint: Endpoint) -> Bool { lanes[endpoint]?.isTrusted ?? false }

    mutating func withLane<T>(_ endpoint: Endpoint, _ body: (inout EndpointLane) -> T) -> T {
        guard var lane = lanes[endpoint] else { preconditionFailure("an endpoint without a lane") }
        defer { lanes[endpoint] = lane }
        return body(&lane)
    }

    /// Another attempt after a pause, when policy and budget allow it.
    mutating func retry(
        _ failure: RetryPolicy.Failure, _ progress: Progress, cause: String
    ) -> Step {
        guard
            let pause = Self.policy.pause(
                after: failure, attempts: progress.attempts, using: &generator)
        else { return .done(.unavailable("\(cause) (\(progress.attempts) attempts)")) }
        guard budget.retryWasWanted() else {
            return .done(.unavailable("\(cause) (no more retries: this run made too many)"))
        }
        return .againAfter(pause)
    }

    /// The pause that a 429 without a usable `Retry-After` earns.
    mutating func pauseWithoutRetryAfter(_ progress: Progress) -> Duration {
        let bound = Self.policy.bound(afterAttempts: progress.attempts)
        return max(
            RetryAfter.shortestWait, bound * Double.random(in: 0.5...1, using: &generator))
    }
}
