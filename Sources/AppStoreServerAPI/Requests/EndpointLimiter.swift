import HTTPTransport
import Subscriptions

/// Limits the requests of one endpoint: by rate, by pauses that Apple ordered, and by a circuit
/// breaker.
///
/// Pure: times come in, the next step goes out.
struct EndpointLimiter {
    /// The step that a request must take before it may be sent.
    enum Admission: Hashable {
        /// Wait until its time (it may be now), then call `slotCame`, or give the slot back. With
        /// `isLimitReached` it waits because the calls of an hour are used up, and not only for its
        /// turn.
        case slot(TokenBucket.Slot)
        /// Apple answered 429; wait until then.
        case paused(until: Duration)
        /// All processes together have made the calls of an hour; wait until then.
        case usedUp(until: Duration)
        /// The failing server asked for no requests until then.
        case postponed(until: Duration)
        /// People have paused or throttled the run; ask for admission again then.
        case held(until: Duration)
        /// The endpoint does not work; ask for admission again then.
        case broken(until: Duration)
        /// The endpoint is given up for this run; the text says what happened last.
        case refused(String)
    }

    /// The role of a request that is sent.
    enum Start {
        case request
        /// Finds out whether the endpoint works again.
        case probe
        /// Check with a request that was answered before, so that the fault of single requests is
        /// not mistaken for a fault of the endpoint.
        case check(HTTPRequest)

        var isProbe: Bool { if case .request = self { false } else { true } }
        var isCheck: Bool { if case .check = self { true } else { false } }
    }

    private var bucket: TokenBucket
    private var rate: AdaptiveRate
    private var breaker: CircuitBreaker
    private var orderedPace = OrderedPace()
    /// When the first request was held by a pause that people ordered and that continues.
    private var heldSince: Duration?
    /// Until when Apple wants no request after a 429.
    private(set) var pausedUntil: Duration = .zero
    private var postponedUntil: Duration = .zero
    private var usedUpUntil: Duration = .zero
    /// The last rate that people were notified of.
    private var reportedRate: Double
    private(set) var lastFault = ""
    /// The last request that Apple answered.
    private var answered: HTTPRequest?
    /// How many answers came from Apple itself.
    private(set) var answers = 0
    private var probes = 0
    /// How many more probes may fail while it is unknown whether the endpoint or the requests fail.
    private var probesInDoubt: Int

    /// The longest pause during that time.
    ///
    /// Short, so that a hundred requests which fail by themselves cost minutes and not the run, and
    /// still no more than twenty calls a minute.
    static let longestPauseInDoubt: Duration = .seconds(3)

    /// A limiter of an endpoint that is assumed to work.
    ///
    /// `patience` says how long to wait for it when it does not. Until it has answered for the
    /// first time, `probesInDoubt` probes are each made with another request.
    init(
        requestsPerSecond: Double, patience: Duration, deadline: Duration?, probesInDoubt: Int = 0
    ) {
        self.probesInDoubt = probesInDoubt
        bucket = TokenBucket(limitPerSecond: requestsPerSecond)
        rate = AdaptiveRate(configuredPerSecond: requestsPerSecond)
        breaker = CircuitBreaker(patience: patience, deadline: deadline)
        reportedRate = requestsPerSecond
    }

    /// Whether the endpoint works as far as is known; requests that fail are not deferred.
    var isBreakerClosed: Bool { breaker.isClosed }

    /// Whether several requests failed before Apple answered any, so that another one may still be
    /// answered.
    var isInDoubt: Bool { isSilent && probesInDoubt > 0 }

    /// Whether it does not work and has not answered once in this run.
    var isSilent: Bool { !breaker.isClosed && !breaker.hasGivenUp && answers == 0 }

    /// The reason why the endpoint was given up; `nil` while it is used.
    var givenUpOn: String? { breaker.hasGivenUp ? lastFault : nil }

    /// A request is to be sent, under what people have ordered.
    mutating func requestWasWanted(
        at now: Duration, under order: PaceOrder = PaceOrder()
    ) -> Admission {
        // First, so that a paused run makes no probe either.
        if order.isPaused, let end = orderedPace.turnWasWanted(at: now, under: order) {
            heldSince = heldSince ?? now
            return .held(until: end)
        }
        if let since = heldSince {
            breaker.wasHeld(for: now - since)
            heldSince = nil
        }
        switch breaker.outlook(at: now) {
        case .refuse: return .refused(lastFault)
        case .wait(let until): return .broken(until: until)
        case .proceed, .probe: break
        }
        if now < pausedUntil { return .paused(until: pausedUntil) }
        if now < postponedUntil { return .postponed(until: postponedUntil) }
        if now < usedUpUntil { return .usedUp(until: usedUpUntil) }
        // Last, so that no turn is taken by a request that waits for something else.
        if let end = orderedPace.turnWasWanted(at: now, under: order) { return .held(until: end) }
        return .slot(bucket.slotWasTaken(at: now, ratePerSecond: rate.perSecond(at: now)))
    }

    /// Whether a pause began while a request waited for its slot.
    func isHeldUp(at now: Duration) -> Bool {
        now < max(pausedUntil, postponedUntil, usedUpUntil)
    }

    /// No request is made in this slot.
    mutating func slotWasGivenBack(_ slot: TokenBucket.Slot) {
        bucket.slotWasGivenBack(slot)
    }

    /// The time of the slot has come; `nil` when the request must ask for admission again.
    mutating func slotCame(at now: Duration) -> Start? {
        guard now >= pausedUntil, now >= postponedUntil else { return nil }
        switch breaker.requestWasWanted(at: now) {
        case .proceed: return .request
        case .probe:
            probes += 1
            // Alternately, because the request that was answered before may fail now.
            guard let answered, !probes.isMultiple(of: 2) else { return .probe }
            return .check(answered)
        case .wait, .refuse: return nil
        }
    }

    /// Any response came, even a refusal of the key.
    mutating func responseCame() -> CircuitBreaker.Change? {
        breaker.answerCame()
    }

    /// Apple itself answered, perhaps with an error.
    mutating func answerCame(to request: HTTPRequest) {
        answers += 1
        answered = request
        probes = 0
    }

    /// Apple answered 429, in this process or in an earlier one.
    ///
    /// - Returns: Whether the rate was halved for it.
    @discardableResult
    mutating func wasRateLimited(at now: Duration, until end: Duration) -> Bool {
        pausedUntil = max(pausedUntil, end)
        bucket.wasPaused(until: pausedUntil)
        return rate.wasRateLimited(at: now, resumption: pausedUntil)
    }

    /// Another process got a 429 and left this share of the rate; a smaller one of our own
    /// stays.
    mutating func wasRateLimitedElsewhere(until end: Duration, rateShare: Double) {
        pausedUntil = max(pausedUntil, end)
        bucket.wasPaused(until: pausedUntil)
        let own = rate.perSecond(at: end) / rate.configuredPerSecond
        // In this order a share that is not a number stays one, which `AdaptiveRate` takes as the
        // lowest.
        rate = AdaptiveRate(
            configuredPerSecond: rate.configuredPerSecond, share: min(rateShare, own),
            resumption: end)
    }

    /// The part of the configured rate that is used when a pause ends.
    var shareAfterPause: Double {
        rate.perSecond(at: pausedUntil) / rate.configuredPerSecond
    }

    /// A rate that people have not been notified of: halved, or whole again.
    ///
    /// The many steps of the slow recovery are not news.
    mutating func rateNews(at now: Duration) -> (perSecond: Double, configured: Double)? {
        let configured = rate.configuredPerSecond
        let present = rate.perSecond(at: max(now, pausedUntil))
        guard present < reportedRate || (present >= configured && reportedRate < configured) else {
            return nil
        }
        reportedRate = present
        return (present, configured)
    }

    /// All processes together have used up the calls of an hour.
    mutating func quotaWasUsedUp(until end: Duration) {
        usedUpUntil = max(usedUpUntil, end)
        bucket.wasPaused(until: usedUpUntil)
    }

    /// A failing server said when to try again.
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

    /// A fault that waiting cannot resolve.
    mutating func hopeWasLost(_ text: String) {
        lastFault = text
        breaker.hopeWasLost()
    }

    mutating func requestWasAbandoned(at now: Duration, _ start: Start) {
        if start.isProbe { breaker.probeWasAbandoned(at: now) }
    }
}

/// The pace that people have ordered for an active run.
package struct PaceOrder: Hashable, Sendable {
    /// How long a held request waits before it looks again, and so the latest that a changed order
    /// is seen by it.
    static let interval: Duration = .milliseconds(500)

    /// Nothing is asked until this order is withdrawn.
    package var isPaused: Bool
    /// For each endpoint; a rate above the configured one changes nothing.
    package var requestsPerSecond: Double?

    package init(isPaused: Bool = false, requestsPerSecond: Double? = nil) {
        self.isPaused = isPaused
        self.requestsPerSecond = requestsPerSecond
    }

    /// Whether a turn that was given under an earlier order is void under this one.
    ///
    /// Turns are given ahead, at slow rates for half a minute; a person who orders a pause does not
    /// want to wait for them.
    func revokes(_ earlier: PaceOrder) -> Bool {
        isPaused || requestsPerSecond != earlier.requestsPerSecond
    }
}

/// Says when the requests of one endpoint may ask for a turn, by what people have ordered.
///
/// Pure: times and orders come in, the end of the wait goes out. A throttled endpoint gives out one
/// turn at a time and none ahead, so that a later order finds no request that waits for an earlier
/// one.
struct OrderedPace: Hashable {
    /// No turn is further away than this, however small the ordered rate.
    private static let longestPauseSeconds = 3600.0

    private var nextTurn: Duration = .zero

    /// A request wants a turn.
    ///
    /// - Parameters:
    ///   - now: The present.
    ///   - order: What holds now.
    /// - Returns: When to ask again; `nil` when it may have a turn, which then counts as taken.
    mutating func turnWasWanted(at now: Duration, under order: PaceOrder) -> Duration? {
        if order.isPaused { return now + PaceOrder.interval }
        guard let rate = order.requestsPerSecond, rate > 0 else {
            nextTurn = .zero
            return nil
        }
        if now < nextTurn { return min(nextTurn, now + PaceOrder.interval) }
        nextTurn = now + .seconds(min(Self.longestPauseSeconds, 1 / rate))
        return nil
    }
}

/// One value for each endpoint.
///
/// Not a dictionary: a limiter that is taken out, changed and put back is copied for every call,
/// and with it what it knows of an hour.
struct PerEndpoint<Value> {
    private var values: [Value]

    init(_ make: (Endpoint) -> Value) {
        values = Endpoint.allCases.map(make)
    }

    subscript(endpoint: Endpoint) -> Value { values[endpoint.position] }

    /// Changes a value where it is.
    mutating func update<Result>(
        _ endpoint: Endpoint, _ change: (inout Value) -> Result
    ) -> Result {
        change(&values[endpoint.position])
    }
}

extension PerEndpoint: Sendable where Value: Sendable {}

extension Endpoint {
    /// Where it is in `allCases`.
    fileprivate var position: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
