import HTTPTransport
import Subscriptions

/// The state that all requests of one app share, and every decision that depends on it.
///
/// Pure: times and random numbers come in, the next step goes out. `PacedRequests` keeps it under a
/// lock and does what it says. In the order of a call: `callWasMade`, `requestWasWanted` and
/// `slotCame` for each attempt, `responseCame` or `transferFailed` with its result
/// (`RequestState+Results.swift`), perhaps `retry`, and `callEnded`.
struct RequestState {
    /// What a call does after an attempt.
    enum Step: Sendable {
        case done(APIOutcome)
        /// Try again at once, as soon as the endpoint's limiter admits it.
        case again
        /// Try again after a pause; the text says how the last attempt failed.
        case againAfter(Duration, String)
        /// Try again with another token than the refused one.
        case renewToken
    }

    /// The progress of one call.
    struct Progress: Sendable {
        var attempts = 0
        var hasReplacedConnection = false
        /// Whether it counts as one of the calls that may find out whether the endpoint works.
        var isOutstanding = true
        /// How many requests of the endpoint Apple had answered when this call first failed.
        var answersBefore: Int?
    }

    /// All of Apple's "errors to retry".
    static let policy = RetryPolicy(retriedCodes: [4_040_002, 4_040_004, 4_040_006, 5_000_001])

    /// How often a call is attempted that fails while others are answered.
    ///
    /// It is repeated at the end of the run and must not delay the others until then.
    static let attemptsAmongAnswers = 2

    /// How many different calls are tried when the first ones of a run all fail.
    ///
    /// Together with the 32 that are in flight, a hundred bad ids at the front of a table do not
    /// stop a run.
    static let probesInDoubt = 72

    /// After so many errors in a row that are not Apple's, before any answer of Apple's, no call is
    /// expected to succeed.
    static let foreignAnswersToGiveUp = 50

    let app: AppIdentity
    let keyID: String
    /// The host of the requests, for messages.
    let host: String
    private(set) var stop: RunStop?
    var counter = CallCounter()
    var clockSkew = ClockSkew()
    /// A token that replaced a refused one, until Apple accepts it; never printed.
    var unprovenToken: String?
    /// Whether there was any answer that only Apple can give.
    var hasAnswer = false
    var foreignInARow = 0
    private var limiters: PerEndpoint<EndpointLimiter>
    /// How many calls have neither ended nor been postponed.
    private var outstanding = PerEndpoint { _ in 0 }
    /// Endpoints for which several calls waited at once.
    var crowded: Set<Endpoint> = []
    var budget = RetryBudget()
    var generator: SeededGenerator
    /// Where a wait ends that people were told of last.
    var toldWaits: [Endpoint: Duration] = [:]
    /// How many failed calls were made again.
    var retries: [Endpoint: Int] = [:]
    /// Answers 429 that later processes have to know of.
    var refusals: [Endpoint: QuotaRefusal] = [:]
    var notices: [PacingNotice] = []
    let deadline: Duration?
    private let rates: QuotaRates

    init(
        app: AppIdentity, keyID: String, host: String, rates: QuotaRates, maxOutage: Duration,
        deadline: Duration?, seed: UInt64
    ) {
        self.app = app
        self.keyID = keyID
        self.host = host
        self.deadline = deadline
        self.rates = rates
        limiters = PerEndpoint {
            EndpointLimiter(
                requestsPerSecond: rates.perSecond(of: $0), patience: maxOutage,
                deadline: deadline, probesInDoubt: Self.isAskedAgain($0) ? Self.probesInDoubt : 0)
        }
        generator = SeededGenerator(seed: seed)
    }

    mutating func callWasMade(_ endpoint: Endpoint) {
        budget.callWasMade()
        outstanding.update(endpoint) { $0 += 1 }
        if outstanding[endpoint] > 1 { crowded.insert(endpoint) }
    }

    mutating func callEnded(_ endpoint: Endpoint, _ progress: Progress) {
        if progress.isOutstanding { outstanding.update(endpoint) { $0 -= 1 } }
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
        _ endpoint: Endpoint, at now: Duration, under order: PaceOrder
    ) throws(RunStop) -> EndpointLimiter.Admission {
        if let stop { throw stop }
        noteRate(of: endpoint, at: now)
        return withLimiter(endpoint) { $0.requestWasWanted(at: now, under: order) }
    }

    /// Whether a request whose turn has come has to ask for admission again.
    func isHeldUp(_ endpoint: Endpoint, at now: Duration) -> Bool {
        limiters[endpoint].isHeldUp(at: now)
    }

    mutating func slotCame(
        _ endpoint: Endpoint, at now: Duration
    ) throws(RunStop) -> EndpointLimiter.Start? {
        if let stop { throw stop }
        return withLimiter(endpoint) { $0.slotCame(at: now) }
    }

    mutating func requestWasAbandoned(
        _ endpoint: Endpoint, at now: Duration, _ start: EndpointLimiter.Start
    ) {
        withLimiter(endpoint) { $0.requestWasAbandoned(at: now, start) }
    }

    /// Whether a call whose connection was lost may be repeated silently.
    func mayRepeatSilently(_ endpoint: Endpoint) -> Bool {
        limiters[endpoint].mayRepeatSilently
    }

    func callsPerHour(_ endpoint: Endpoint) -> Int { rates.perHour(of: endpoint) }

    func givenUp(_ endpoint: Endpoint) -> String? { limiters[endpoint].givenUpOn }

    mutating func withLimiter<T>(_ endpoint: Endpoint, _ body: (inout EndpointLimiter) -> T) -> T {
        let (result, wasClosed, isClosed) = limiters.update(endpoint) { limiter in
            let wasClosed = limiter.isBreakerClosed
            return (body(&limiter), wasClosed, limiter.isBreakerClosed)
        }
        if isClosed != wasClosed {
            let cause = limiters[endpoint].lastFault
            note(wasClosed ? .breakerOpened(cause: cause) : .breakerClosed, of: endpoint)
        }
        return result
    }
}

extension Timestamp {
    func adding(_ duration: Duration) -> Timestamp {
        let (seconds, attoseconds) = duration.components
        return adding(milliseconds: seconds * 1000 + attoseconds / 1_000_000_000_000_000)
    }
}

/// Decides whether, and after which pause, a failed call is repeated.
extension RequestState {
    /// Only status calls are repeated at the end of a run, so only they can be postponed.
    static func isAskedAgain(_ endpoint: Endpoint) -> Bool { endpoint == .subscriptionStatuses }

    /// Postpones a failed call in favour of another one, and says why; `nil` when it may be
    /// repeated.
    ///
    /// Before the first answer, an outage and a series of bad ids look alike, and repeating the
    /// same calls would never distinguish them.
    mutating func postpone(
        _ endpoint: Endpoint, _ progress: inout Progress
    ) -> String? {
        let limiter = limiters[endpoint]
        guard progress.attempts > 0, limiter.isInDoubt, outstanding[endpoint] > 1 else {
            return nil
        }
        outstanding.update(endpoint) { $0 -= 1 }
        progress.isOutstanding = false
        return "\(limiter.lastFault) (\(progress.attempts) attempts, then put off for others)"
    }

    /// Whether this is the only call left that can find out when the endpoint works again.
    ///
    /// Not for a call that was alone from the beginning: whether it or the endpoint fails is
    /// unknown, so it has only its retry budget.
    private mutating func isLastProbe(_ endpoint: Endpoint) -> Bool {
        Self.isAskedAgain(endpoint) && outstanding[endpoint] == 1
            && crowded.contains(endpoint)
            && withLimiter(endpoint) { $0.isSilent }
    }

    /// Repeats the call after a pause, when policy and budget allow it.
    mutating func retry(
        _ failure: RetryPolicy.Failure, of endpoint: Endpoint, _ progress: Progress, cause: String
    ) -> Step {
        guard
            let pause = Self.policy.pause(
                after: failure, attempts: progress.attempts, using: &generator)
        else { return .done(.unavailable("\(cause) (\(progress.attempts) attempts)")) }
        guard budget.retryWasWanted() else {
            return .done(.unavailable("\(cause) (no more retries: this run made too many)"))
        }
        noteRetry(of: endpoint, cause: cause)
        return .againAfter(pause, cause)
    }

    /// Repeats the call after a fault of the endpoint, unless probably only this call fails.
    mutating func retryAfterFault(
        _ failure: RetryPolicy.Failure, of endpoint: Endpoint, _ progress: inout Progress,
        cause: String
    ) -> Step {
        if let text = postpone(endpoint, &progress) {
            return .done(.unavailable(text))
        }
        // The circuit breaker limits its attempts.
        if isLastProbe(endpoint) { return .again }
        let answers = withLimiter(endpoint) { $0.answers }
        let before = progress.answersBefore ?? answers
        progress.answersBefore = before
        guard answers == before || progress.attempts < Self.attemptsAmongAnswers else {
            return .done(
                .unavailable(
                    "\(cause) (\(progress.attempts) attempts, while others were answered)"))
        }
        return retry(failure, of: endpoint, progress, cause: cause)
    }

    /// The pause after a 429 without a usable `Retry-After`.
    mutating func pauseWithoutRetryAfter(_ progress: Progress) -> Duration {
        let bound = Self.policy.bound(afterAttempts: progress.attempts)
        return max(
            RetryAfter.shortestWait, bound * Double.random(in: 0.5...1, using: &generator))
    }
}
