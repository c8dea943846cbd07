import HTTPTransport

/// Everything that all requests of one endpoint share: rate, pause and breaker.
struct EndpointLane {
    /// What a request has to do next before it may be sent.
    enum Admission: Hashable {
        /// Wait until then (it may be now), then ask to `start`. `isQuotaUsedUp` where the hour's
        /// calls are made, rather than the next one's turn not come.
        case slot(at: Duration, isQuotaUsedUp: Bool)
        /// Apple's quota is used up until then.
        case paused(until: Duration)
        /// The server asked to be left alone until then.
        case postponed(until: Duration)
        /// The endpoint does not work; ask again then.
        case broken(until: Duration)
        /// It will not work in this run; the text says what happened last.
        case refused(String)
    }

    /// As what a request starts.
    enum Start {
        case request
        /// The one that finds out whether the endpoint works again.
        case probe
        /// The same by a question that was answered before, so that a fault of single questions is
        /// not taken for one of the endpoint.
        case check(HTTPRequest)

        var isProbe: Bool { if case .request = self { false } else { true } }
        var isCheck: Bool { if case .check = self { true } else { false } }
    }

    private var bucket: TokenBucket
    private var rate: AdaptiveRate
    private var breaker: CircuitBreaker
    private var pausedUntil: Duration = .zero
    private var postponedUntil: Duration = .zero
    private(set) var lastFault = ""
    /// The last question that Apple answered.
    private var answered: HTTPRequest?
    /// How many answers came that are Apple's own.
    private(set) var answers = 0
    private var probes = 0
    /// How many more failing probes leave it open whether the endpoint is at fault or the questions.
    private var probesInDoubt: Int

    /// The longest pause while that is open: short, so that a hundred questions which fail by
    /// themselves cost minutes and not the night, and still no more than twenty calls a minute.
    static let longestPauseInDoubt: Duration = .seconds(3)

    /// A lane that works, for all that is known.
    ///
    /// `patience` is for how long it is waited for when it does not. While it has never answered, so
    /// many probes as `probesInDoubt` are each another question.
    init(
        requestsPerSecond: Double, patience: Duration, deadline: Duration?, probesInDoubt: Int = 0
    ) {
        self.probesInDoubt = probesInDoubt
        bucket = TokenBucket(limitPerSecond: requestsPerSecond)
        rate = AdaptiveRate(configuredPerSecond: requestsPerSecond)
        breaker = CircuitBreaker(patience: patience, deadline: deadline)
    }

    /// Whether a connection lost by the way may be replaced without a word.
    var isTrusted: Bool { breaker.isClosed }

    /// Nothing of Apple's has come yet and a row of questions failed: the next may be answered.
    var isInDoubt: Bool { isSilent && probesInDoubt > 0 }

    /// It does not work, and has not answered once in this run.
    var isSilent: Bool { !breaker.isClosed && !breaker.hasGivenUp && answers == 0 }

    /// Why nobody is sent any more; `nil` while somebody is.
    var givenUpOn: String? { breaker.hasGivenUp ? lastFault : nil }

    /// A request wants to be sent.
    mutating func requestWasWanted(at now: Duration) -> Admission {
        switch breaker.outlook(at: now) {
        case .refuse: return .refused(lastFault)
        case .wait(let until): return .broken(until: until)
        case .proceed, .probe: break
        }
        if now < pausedUntil { return .paused(until: pausedUntil) }
        if now < postponedUntil { return .postponed(until: postponedUntil) }
        let slot = bucket.slotWasTaken(at: now, ratePerSecond: rate.perSecond(at: now))
        return .slot(at: slot.time, isQuotaUsedUp: slot.isLimitReached)
    }

    /// The slot has come; `nil` when things changed meanwhile and the request must ask again.
    mutating func slotCame(at now: Duration) -> Start? {
        guard now >= pausedUntil, now >= postponedUntil else { return nil }
        switch breaker.requestWasWanted(at: now) {
        case .proceed: return .request
        case .probe:
            probes += 1
            // In turns: what was answered before may be what does not work now.
            guard let answered, !probes.isMultiple(of: 2) else { return .probe }
            return .check(answered)
        case .wait, .refuse: return nil
        }
    }

    /// Something came, if only a refusal of the key.
    mutating func responseCame() -> CircuitBreaker.Change? {
        breaker.answerCame()
    }

    /// Apple answered `question`, an error of its own making included.
    mutating func answerCame(to question: HTTPRequest) {
        answers += 1
        answered = question
        probes = 0
    }

    mutating func wasRateLimited(at now: Duration, until end: Duration) {
        pausedUntil = max(pausedUntil, end)
        bucket.wasPaused(until: pausedUntil)
        rate.wasRateLimited(at: now, resumption: pausedUntil)
    }

    /// The server, not working, says when to come again.
    mutating func wasPostponed(until end: Duration) {
        postponedUntil = max(postponedUntil, end)
        bucket.wasPaused(until: postponedUntil)
    }

    mutating func faultOccurred(
        at now: Duration, _ text: String, _ start: Start
    ) -> CircuitBreaker.Change? {
        guard !breaker.hasGivenUp else { return nil }
        lastFault = text
        let longest = isInDoubt ? Self.longestPauseInDoubt : CircuitBreaker.longestPause
        if isInDoubt, start.isProbe { probesInDoubt -= 1 }
        let change = breaker.faultOccurred(
            at: now, asProbe: start.isProbe, longestPause: longest)
        if change == .gaveUp { lastFault += ", for longer than max_outage" }
        return change
    }

    /// A fault that time does not mend.
    mutating func hopeWasLost(_ text: String) {
        lastFault = text
        breaker.hopeWasLost()
    }

    mutating func requestWasAbandoned(at now: Duration, _ start: Start) {
        if start.isProbe { breaker.probeWasAbandoned(at: now) }
    }
}
