import HTTPTransport

/// Everything that all requests of one endpoint share: rate, pause and breaker.
struct EndpointLane {
    /// What a request has to do next before it may be sent.
    enum Admission: Hashable {
        /// Wait until then (it may be now), then ask to `start`.
        case slot(at: Duration)
        /// The quota is used up until then.
        case paused(until: Duration)
        /// The endpoint does not work; ask again then.
        case broken(until: Duration)
        /// It will not work in this run; the text says what happened last.
        case refused(String)
    }

    /// As what a request starts.
    enum Start: Hashable {
        case request
        /// The one that finds out whether the endpoint works again.
        case probe
    }

    private var bucket: TokenBucket
    private var rate: AdaptiveRate
    private var breaker = CircuitBreaker()
    private var pausedUntil: Duration = .zero
    private var lastFault = ""

    init(requestsPerSecond: Double) {
        bucket = TokenBucket(limitPerSecond: requestsPerSecond)
        rate = AdaptiveRate(configuredPerSecond: requestsPerSecond)
    }

    /// Whether a connection lost by the way may be replaced without a word.
    var isTrusted: Bool { breaker.isClosed }

    /// A request wants to be sent.
    mutating func requestWasWanted(at now: Duration) -> Admission {
        switch breaker.outlook(at: now) {
        case .refuse: return .refused(lastFault)
        case .wait(let until): return .broken(until: until)
        case .proceed, .probe: break
        }
        if now < pausedUntil { return .paused(until: pausedUntil) }
        return .slot(at: bucket.slotWasTaken(at: now, ratePerSecond: rate.perSecond(at: now)))
    }

    /// The slot has come; `nil` when things changed meanwhile and the request must ask again.
    mutating func slotCame(at now: Duration) -> Start? {
        guard now >= pausedUntil else { return nil }
        switch breaker.requestWasWanted(at: now) {
        case .proceed: return .request
        case .probe: return .probe
        case .wait, .refuse: return nil
        }
    }

    mutating func answerCame() {
        breaker.answerCame()
    }

    mutating func wasRateLimited(at now: Duration, until end: Duration) {
        breaker.answerCame()
        pausedUntil = max(pausedUntil, end)
        bucket.wasPaused(until: pausedUntil)
        rate.wasRateLimited(at: now, resumption: pausedUntil)
    }

    mutating func faultOccurred(at now: Duration, _ text: String) {
        lastFault = text
        breaker.faultOccurred(at: now)
    }

    /// A fault that time does not mend.
    mutating func hopeWasLost(_ text: String) {
        lastFault = text
        breaker.hopeWasLost()
    }

    mutating func requestWasAbandoned(at now: Duration, _ start: Start) {
        if start == .probe { breaker.probeWasAbandoned(at: now) }
    }
}
