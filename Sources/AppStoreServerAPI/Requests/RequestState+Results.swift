import HTTPTransport
import Subscriptions

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
            let denial = Denial(
                app: app, keyID: keyID, serverDate: response.header("date"), wallClock: wallClock)
            throw wasStopped(.denied(denial.text))
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

    /// Before the first answer of Apple's, somebody in between refuses everything and waiting does
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
        case .connectionLost where !progress.hasReplacedConnection && mayRepeatSilently(endpoint):
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
