import Subscriptions

/// One environment as clients meet it: the store behind its limits and the faults in force.
struct FrontDoor: Sendable {
    let service: AppStoreService
    let faults: FaultPlan
    let limits: RequestLimits
    let signers: FlawedSigners

    /// An answer and how it travels.
    struct Outcome: Sendable {
        var answer: ServiceAnswer
        var delayMilliseconds: Int64 = 0
        var transport = Transport.whole
    }

    /// What happens to the body on its way.
    enum Transport: Sendable {
        case whole
        case reset(afterBytes: Int)
        case drip(intervalMilliseconds: Int64)
        case endless
        case dropConnection
    }

    func outcome(_ request: ServiceRequest) -> Outcome {
        guard let (endpoint, id) = Endpoint.match(request.path) else {
            return Outcome(answer: .noSuchPath)
        }
        let rule = faults.next(endpoint, id: id, environment: service.environment)
        let now = SimulatedClock.realNow.unixMilliseconds
        if rule == nil || rule?.fault.reachesStore == true {
            if let end = limits.refusal(
                endpoint, environment: service.environment, unixMilliseconds: now)
            {
                return Outcome(answer: .rateLimited(retryAfter: String(end)))
            }
        }
        guard let rule else { return Outcome(answer: service.answer(request)) }
        var outcome = faulty(rule.fault, request: request, now: now)
        outcome.delayMilliseconds = rule.delayMilliseconds
        return outcome
    }

    private func faulty(_ fault: Fault, request: ServiceRequest, now: Int64) -> Outcome {
        switch fault {
        case .failure(let code, let message):
            return Outcome(answer: .failure(code: code, message: message))
        case .status(let status, let type, let body, let headers):
            return Outcome(
                answer: ServiceAnswer(
                    status: status, contentType: type, headers: headers, body: Array(body.utf8)))
        case .rateLimited(let form, let wait):
            return Outcome(
                answer: .rateLimited(
                    retryAfter: form.value(unixMilliseconds: now, waitSeconds: wait)))
        case .unauthorized: return Outcome(answer: .unauthorized)
        case .delay: return Outcome(answer: service.answer(request))
        case .reset(let bytes):
            return Outcome(
                answer: service.answer(request), transport: .reset(afterBytes: bytes))
        case .drip(let interval):
            return Outcome(
                answer: service.answer(request), transport: .drip(intervalMilliseconds: interval))
        case .cut(let bytes):
            var answer = service.answer(request)
            answer.body = Array(answer.body.prefix(bytes))
            return Outcome(answer: answer)
        case .endless:
            return Outcome(answer: service.answer(request), transport: .endless)
        case .dropConnection:
            return Outcome(answer: service.answer(request), transport: .dropConnection)
        case .distorted(let distortion):
            return Outcome(
                answer: service.distorted(by: distortion, signers: signers).answer(request))
        }
    }
}

extension Fault {
    /// Whether the store itself is asked, so that its limits count the request.
    var reachesStore: Bool {
        switch self {
        case .failure, .status, .rateLimited, .unauthorized: false
        case .delay, .reset, .drip, .cut, .endless, .dropConnection, .distorted: true
        }
    }
}
