import Subscriptions

/// The API of one environment as clients see it: the service behind rate limits and the fault plan.
struct APIGateway: Sendable {
    let service: AppStoreService
    let faults: FaultPlan
    let limits: RequestLimits
    let signers: FlawedSigners
    /// `nil` without `--keep`.
    var journal: WorldJournal?

    /// An answer and how it is sent.
    struct Outcome: Sendable {
        var answer: ServiceAnswer
        var delayMilliseconds: Int64 = 0
        var transport = Transport.whole
        /// Names of the faults that were applied.
        var faults: [String] = []
    }

    /// How an answer is sent.
    enum Transport: Sendable {
        case whole
        case reset(afterBytes: Int)
        case drip(intervalMilliseconds: Int64)
        case endless
        case dropConnection
        case wrongLength(missingBytes: Int)
        case goAway(isProcessed: Bool)
        case resetStream(StreamResetCode)
    }

    func outcome(_ request: ServiceRequest) -> Outcome {
        guard let match = Endpoint.match(request) else {
            return Outcome(answer: .noSuchPath)
        }
        let now = SimulatedClock.realNow.unixMilliseconds
        let firings = faults.firings(
            FaultSubject(
                endpoint: match.endpoint, id: match.id, environment: service.environment,
                request: request),
            unixMilliseconds: now)
        if firings.allSatisfy(\.rule.fault.reachesStore) {
            // A request that is not admitted does not count against the app's quota.
            if let refusal = service.refusal(of: request) {
                return Outcome(
                    answer: refusal,
                    delayMilliseconds: firings.reduce(0) { $0 + $1.rule.delayMilliseconds })
            }
            if let end = limits.refusal(
                match.endpoint, environment: service.environment, unixMilliseconds: now)
            {
                return Outcome(
                    answer: match.endpoint == .salesReports
                        ? .connectRateLimited
                        : .rateLimited(
                            retryAfter: String(end + service.clock.skewMilliseconds)))
            }
        }
        let moment = service.clock.now
        let outcome =
            firings.isEmpty
            ? Outcome(answer: service.answer(request))
            : faulty(firings, request: request, now: now)
        if outcome.answer.status == 200, firings.allSatisfy(\.rule.fault.reachesStore) {
            journal?.note(request, in: service.environment, at: moment)
        }
        return outcome
    }

    /// Applies faults in three steps: to the service, to its answer, and to the sending.
    private func faulty(
        _ firings: [FaultPlan.Firing], request: ServiceRequest, now: Int64
    ) -> Outcome {
        var service = self.service
        for firing in firings { service.apply(firing.rule.fault, signers: signers) }
        let skew = service.clock.skewMilliseconds
        let substitute = firings.lazy.compactMap { firing in
            firing.rule.fault.substitute(
                for: request, now: now + skew, began: firing.began + skew)
        }.first
        var outcome = Outcome(answer: substitute ?? service.answer(request))
        outcome.faults = firings.map(\.rule.name)
        for firing in firings {
            outcome.delayMilliseconds += firing.rule.delayMilliseconds
            outcome.answer = changed(outcome.answer, by: firing.rule.fault, service: service)
            if let transport = firing.rule.fault.transport { outcome.transport = transport }
        }
        return outcome
    }

    private func changed(
        _ answer: ServiceAnswer, by fault: Fault, service: AppStoreService
    ) -> ServiceAnswer {
        var answer = answer
        switch fault {
        case .cut(let bytes): answer.body = Array(answer.body.prefix(bytes))
        case .gzip(let form):
            answer.body = form.body(of: answer.body)
            answer.headers.append(("Content-Encoding", "gzip"))
        case .rewritten(let rewrite):
            let rewriter = AnswerRewriter(
                sign: { payload in
                    try? service.signed(
                        payload, at: service.signedDate(at: service.clock.now))
                },
                breaker: { signers.breaker.text(breaking: $1, as: $0) },
                nowMilliseconds: service.clock.now.unixMilliseconds)
            return rewriter.apply(rewrite, to: answer)
        default: break
        }
        return answer
    }
}

extension AppStoreService {
    /// Applies a fault to the content of later answers; other faults change nothing.
    fileprivate mutating func apply(_ fault: Fault, signers: FlawedSigners) {
        switch fault {
        case .distorted(let distortion): self = distorted(by: distortion, signers: signers)
        case .pageSize(let size): entriesPerPage = size
        case .asOf(let milliseconds): asOfMilliseconds = milliseconds
        case .listing(let fault): listingFaults.append(fault)
        default: break
        }
    }
}

extension ServiceAnswer {
    /// A 429 always has a `Retry-After`, unless a fault leaves it out.
    fileprivate func timed(now: Int64) -> ServiceAnswer {
        guard status == 429, !headers.contains(where: { $0.name.lowercased() == "retry-after" })
        else { return self }
        var answer = self
        answer.headers.append(("Retry-After", String(now + 1000)))
        return answer
    }
}

extension Fault {
    /// Whether the request reaches the service and counts against the limits.
    var reachesStore: Bool {
        switch self {
        case .failure, .status, .rateLimited, .quotaUsedUp, .unauthorized, .expiredToken: false
        default: true
        }
    }

    /// The answer that replaces the service's; `nil` if the service answers.
    fileprivate func substitute(
        for request: ServiceRequest, now: Int64, began: Int64
    ) -> ServiceAnswer? {
        switch self {
        case .failure(let code, let message):
            ServiceAnswer.failure(code: code, message: message).timed(now: now)
        case .status(let status, let type, let body, let headers):
            ServiceAnswer(
                status: status, contentType: type, headers: headers, body: Array(body.utf8)
            ).timed(now: now)
        case .rateLimited(let form, let wait):
            .rateLimited(
                retryAfter: form.value(unixMilliseconds: now, until: now + wait * 1000))
        case .quotaUsedUp(let form, let wait):
            .rateLimited(
                retryAfter: form.value(unixMilliseconds: now, until: began + wait * 1000))
        case .unauthorized: .unauthorized
        case .expiredToken: request.pageTokenFailure.map { .failure($0) }
        default: nil
        }
    }

    /// How the answer is sent; `nil` for as usual.
    fileprivate var transport: APIGateway.Transport? {
        switch self {
        case .reset(let bytes): .reset(afterBytes: bytes)
        case .drip(let interval): .drip(intervalMilliseconds: interval)
        case .endless: .endless
        case .dropConnection: .dropConnection
        case .wrongLength(let bytes): .wrongLength(missingBytes: bytes)
        case .goAway(let isProcessed): .goAway(isProcessed: isProcessed)
        case .resetStream(let code): .resetStream(code)
        default: nil
        }
    }
}
