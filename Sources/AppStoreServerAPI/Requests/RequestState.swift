import HTTPTransport
import Subscriptions

/// The state that all requests of one app share, and every decision that depends on it.
///
/// Pure: times and random numbers come in, the next step goes out. `PacedRequests` keeps it under a
/// lock and does what it says. In the order of a call: `callWasMade`, `requestWasWanted` and
/// `slotCame` for each attempt, `responseCame` or `transferFailed` with its result, perhaps `retry`,
/// and `callEnded`.
struct RequestState {
    /// The next step of a call after an attempt.
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
    /// Where a wait ends that people were notified of last.
    var reportedWaits: [Endpoint: Duration] = [:]
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

/// The consequences of an attempt's result for its call and for all others.
extension RequestState {
    /// One request that was sent.
    struct Attempt {
        let endpoint: Endpoint
        let start: EndpointLimiter.Start
        /// Without its token.
        let message: HTTPRequest
        let token: String
        /// Whether it is the second token of its call.
        let isTokenRenewed: Bool
    }

    /// A complete response came.
    ///
    /// - Throws: The reason when it ends the run.
    mutating func responseCame(
        _ response: HTTPResponse, to attempt: Attempt, at now: Duration, wallClock: Timestamp,
        _ progress: inout Progress
    ) throws(RunStop) -> Step {
        let endpoint = attempt.endpoint
        clockSkew.compare(serverDate: response.header("date"), wallClock: wallClock)
        let reading = ResponseReading(response)
        counter.attemptEnded(endpoint, CallResult(reading))
        noteAnswer(reading, to: attempt, at: now, wallClock)
        if CallResult(reading) != .unauthorized, attempt.token == unprovenToken {
            unprovenToken = nil
        }
        switch reading {
        case .unauthorized:
            if let stop { throw stop }
            guard attempt.isTokenRenewed || attempt.token == unprovenToken else {
                return .renewToken
            }
            let text = denial(serverDate: response.header("date"), wallClock: wallClock)
            throw wasStopped(.denied(text))
        case .misconfigured(let code, let message):
            throw wasStopped(
                .misconfigured(
                    "Apple does not know the app \(app.bundleID) in \(app.environment.rawValue)"
                        + " (\(code): \(message)). Check bundle_id, and that the key is this app's."
                ))
        case .answered(let body): return .done(.answered(body: body))
        case .undecodable(let text): return .done(.undecodable(text))
        case .rateLimited(let retryAfter):
            progress.attempts += 1
            let pause =
                RetryAfter.wait(for: retryAfter, nowUnixMilliseconds: wallClock.unixMilliseconds)
                ?? pauseWithoutRetryAfter(progress)
            wasRateLimited(endpoint, for: pause, at: now, wallClock: wallClock)
            // A wait that Apple ordered costs an attempt, but not the retry budget.
            return progress.attempts < Self.policy.attemptLimit ? .again : .done(.rateLimited)
        case .refused(let status, let code, let message):
            let failure = RetryPolicy.Failure.answer(status: status, code: code)
            guard Self.policy.retries(failure) else {
                return .done(.refused(httpStatus: status, errorCode: code, message: message))
            }
            guard !attempt.start.isCheck else { return .again }
            progress.attempts += 1
            let said = message.isEmpty ? "" : ": \(message)"
            return retry(
                failure, of: endpoint, progress, cause: "Apple answered \(status) \(code)\(said)")
        case .failed(let fault):
            return faultCame(fault, to: attempt, at: now, wallClock: wallClock, &progress)
        case .foreign(let text):
            let cause = "\(host) answered \(text), which is not Apple's form"
            noteForeign(cause, attempt, at: now, wallClock)
            return .done(.unavailable(cause))
        }
    }

    private mutating func faultCame(
        _ fault: ResponseReading.Fault, to attempt: Attempt, at now: Duration, wallClock: Timestamp,
        _ progress: inout Progress
    ) -> Step {
        let cause = "\(fault.code == nil ? host : "Apple") answered \(fault.text)"
        // Includes 5000000: a server that answers nothing else does not work.
        note(fault: cause, attempt, at: now, wallClock)
        let wait = RetryAfter.wait(
            for: fault.retryAfter, nowUnixMilliseconds: wallClock.unixMilliseconds)
        if let wait {
            withLimiter(attempt.endpoint) { $0.wasPostponed(until: now + wait) }
            noteWait(
                .postponed, of: attempt.endpoint, until: now + wait, at: now, wallClock: wallClock)
        }
        guard !attempt.start.isCheck else { return .again }
        progress.attempts += 1
        let failure = RetryPolicy.Failure.answer(status: fault.status, code: fault.code)
        if let code = fault.code {
            hasAnswer = true
            guard Self.policy.retries(failure) else {
                return .done(
                    .refused(httpStatus: fault.status, errorCode: code, message: fault.message))
            }
        }
        return retryAfterFault(failure, of: attempt.endpoint, &progress, cause: cause)
    }

    /// Every response but a fault shows that the endpoint works; only some are certainly Apple's.
    private mutating func noteAnswer(
        _ reading: ResponseReading, to attempt: Attempt, at now: Duration, _ wallClock: Timestamp
    ) {
        switch reading {
        case .failed, .foreign: return
        case .answered, .refused:
            hasAnswer = true
            foreignInARow = 0
            withLimiter(attempt.endpoint) { $0.answerCame(to: attempt.message) }
        case .unauthorized, .misconfigured, .rateLimited, .undecodable: break
        }
        let change = withLimiter(attempt.endpoint) { $0.responseCame() }
        note(change, of: attempt.endpoint, at: now, wallClock: wallClock)
    }

    private mutating func note(
        fault text: String, _ attempt: Attempt, at now: Duration, _ wallClock: Timestamp
    ) {
        let change = withLimiter(attempt.endpoint) {
            $0.faultOccurred(at: now, text, attempt.start)
        }
        note(change, of: attempt.endpoint, at: now, wallClock: wallClock)
    }

    /// Before the first answer of Apple's, a proxy in between refuses everything and waiting does
    /// not help; later it is a fault like any other.
    private mutating func noteForeign(
        _ text: String, _ attempt: Attempt, at now: Duration, _ wallClock: Timestamp
    ) {
        if hasAnswer || attempt.start.isProbe {
            note(fault: text, attempt, at: now, wallClock)
        }
        guard !hasAnswer else { return }
        foreignInARow += 1
        if foreignInARow >= Self.foreignAnswersToGiveUp {
            withLimiter(attempt.endpoint) { $0.hopeWasLost(text) }
        }
    }

    /// No complete response came.
    ///
    /// - Throws: The reason when it ends the run.
    mutating func transferFailed(
        _ error: HTTPTransportError, of attempt: Attempt, at now: Duration, wallClock: Timestamp,
        _ progress: inout Progress
    ) throws(RunStop) -> Step {
        let endpoint = attempt.endpoint
        switch error {
        case .cancelled:
            requestWasAbandoned(endpoint, at: now, attempt.start)
            throw .cancelled
        case .invalidRequest(let text):
            requestWasAbandoned(endpoint, at: now, attempt.start)
            throw wasStopped(.misconfigured(text))
        case .bodyTooLarge, .malformedResponse:
            counter.attemptEnded(endpoint, .undecodable)
            noteAnswer(.undecodable(error.description), to: attempt, at: now, wallClock)
            return .done(.undecodable(error.description))
        case .untrustedServer(let text):
            counter.attemptEnded(endpoint, .connection)
            if hasAnswer {
                note(fault: text, attempt, at: now, wallClock)
            } else {
                withLimiter(endpoint) { $0.hopeWasLost(text) }
            }
            return .done(.unavailable(text))
        case .connectionLost
        where !progress.hasReplacedConnection && limiters[endpoint].isBreakerClosed:
            // A server that closes a connection (GOAWAY) drops the requests on it, which says
            // nothing about its health. All our calls only read, so repeating one is harmless.
            counter.attemptEnded(endpoint, .connection)
            progress.hasReplacedConnection = true
            return .again
        case .connectionFailed(let text), .timedOut(let text), .connectionLost(let text):
            counter.attemptEnded(endpoint, .connection)
            note(fault: text, attempt, at: now, wallClock)
            guard !attempt.start.isCheck else { return .again }
            progress.attempts += 1
            return retryAfterFault(.connection, of: endpoint, &progress, cause: text)
        }
    }
}

/// Notices about the pace: collected under the lock, shown by `PacedRequests` after it.
extension RequestState {
    /// Waits for the share of the quota up to this long are part of an even pace, and not told.
    ///
    /// The window of an hour moves on in steps of this length.
    private static let shortestReportedWait: Duration = .seconds(2 * QuotaWindow.bucketSeconds)
    /// An end that moved by less than this is the same wait.
    private static let sameEnd: Duration = .seconds(1)

    mutating func takeNotices() -> [PacingNotice] {
        defer { notices = [] }
        return notices
    }

    mutating func note(_ event: PacingNotice.Event, of endpoint: Endpoint) {
        notices.append(PacingNotice(app: app, endpoint: endpoint, event: event))
    }

    /// An endpoint does not work, works again, or was given up.
    mutating func note(
        _ change: CircuitBreaker.Change?, of endpoint: Endpoint, at now: Duration,
        wallClock: Timestamp
    ) {
        guard let change else { return }
        let event: OutageNotice.Event =
            switch change {
            case .waits(let until, let givesUpAt):
                .waits(
                    until: wallClock.adding(until - now),
                    givesUpAt: wallClock.adding(givesUpAt - now)
                )
            case .worksAgain(let since): .worksAgain(afterSeconds: (now - since).components.seconds)
            case .gaveUp: .gaveUp
            }
        let cause = withLimiter(endpoint) { $0.lastFault }
        note(
            .outage(OutageNotice(app: app, endpoint: endpoint, event: event, cause: cause)),
            of: endpoint)
    }

    /// A wait of the whole endpoint begins, or gets longer.
    mutating func noteWait(
        _ reason: PacingWait.Reason, of endpoint: Endpoint, until end: Duration, at now: Duration,
        wallClock: Timestamp
    ) {
        switch reason {
        case .rateLimited, .postponed: break
        case .quotaUsedUp: guard end - now > Self.shortestReportedWait else { return }
        case .slowTurn:
            // A later request waits for a later turn; the run continues the first.
            guard end - now > Self.shortestReportedWait, reportedWaits[endpoint] == nil else {
                return
            }
        }
        if let reported = reportedWaits[endpoint], end <= reported + Self.sameEnd { return }
        reportedWaits[endpoint] = end
        let wait = PacingWait(
            reason: reason, until: wallClock.adding(end - now),
            isPastDeadline: deadline.map { end > $0 } ?? false)
        note(.wait(wait), of: endpoint)
    }

    /// A call waits for its turn.
    mutating func noteTurn(
        _ slot: TokenBucket.Slot, of endpoint: Endpoint, at now: Duration, wallClock: Timestamp
    ) {
        let reason: PacingWait.Reason =
            slot.isLimitReached ? .quotaUsedUp(callsPerHour: callsPerHour(endpoint)) : .slowTurn
        noteWait(reason, of: endpoint, until: slot.time, at: now, wallClock: wallClock)
    }

    /// The rate was halved, or is whole again.
    mutating func noteRate(of endpoint: Endpoint, at now: Duration) {
        guard let news = withLimiter(endpoint, { $0.rateNews(at: now) }) else { return }
        note(.rate(perSecond: news.perSecond, configured: news.configured), of: endpoint)
    }

    /// A failed call is made again.
    mutating func noteRetry(of endpoint: Endpoint, cause: String) {
        let count = retries[endpoint, default: 0] + 1
        retries[endpoint] = count
        guard count.nonzeroBitCount == 1 else { return }
        note(.retries(count, cause: cause), of: endpoint)
    }
}

/// The share of an hour that all processes use together.
extension RequestState {
    /// The calls of an hour are used up until `end`, and a slot that was taken is not used.
    mutating func quotaWasUsedUp(
        _ endpoint: Endpoint, callsPerHour: Int, until end: Duration, slot: TokenBucket.Slot,
        at now: Duration, wallClock: Timestamp
    ) {
        withLimiter(endpoint) {
            $0.slotWasGivenBack(slot)
            $0.quotaWasUsedUp(until: end)
        }
        noteWait(
            .quotaUsedUp(callsPerHour: callsPerHour), of: endpoint, until: end, at: now,
            wallClock: wallClock)
    }

    /// A 429 came: every call of the endpoint waits, and the rate is halved.
    mutating func wasRateLimited(
        _ endpoint: Endpoint, for pause: Duration, at now: Duration, wallClock: Timestamp
    ) {
        let end = now + pause
        let (isLonger, isHalved) = withLimiter(endpoint) { limiter in
            let isLonger = end > limiter.pausedUntil + Self.sameEnd
            return (isLonger, limiter.wasRateLimited(at: now, until: end))
        }
        noteWait(.rateLimited, of: endpoint, until: end, at: now, wallClock: wallClock)
        noteRate(of: endpoint, at: now)
        guard isHalved || isLonger else { return }
        refusals[endpoint] = QuotaRefusal(
            resumesAt: wallClock.adding(pause),
            rateShare: withLimiter(endpoint) { $0.shareAfterPause })
    }

    /// Records a refusal that another process got: an earlier one that is still in force, or a new
    /// one.
    mutating func wasRateLimitedElsewhere(
        _ refusal: QuotaRefusal, at endpoint: Endpoint, now: Duration, wallClock: Timestamp
    ) {
        // However the clock was set meanwhile: no pause is longer than Apple's longest.
        let remaining = min(
            refusal.resumesAt.milliseconds(since: wallClock),
            RetryAfter.longestWait.components.seconds * 1000)
        let end = now + .milliseconds(remaining)
        withLimiter(endpoint) {
            $0.wasRateLimitedElsewhere(until: end, rateShare: refusal.rateShare)
        }
        guard end > now else { return }
        noteWait(.rateLimited, of: endpoint, until: end, at: now, wallClock: wallClock)
    }

    /// A 429 that later processes have to know of, once.
    mutating func takeRefusal(_ endpoint: Endpoint) -> QuotaRefusal? {
        refusals.removeValue(forKey: endpoint)
    }
}
