import HTTPTransport
import Subscriptions

/// What the end of an attempt means for its call and for all others.
extension RequestState {
    /// A complete response came to a request with `token`.
    ///
    /// `isTokenRenewed` when it is the second token of its call.
    ///
    /// - Throws: what ends the run.
    mutating func responseCame(
        _ response: HTTPResponse, to endpoint: Endpoint, at now: Duration, wallClock: Timestamp,
        token: String, isTokenRenewed: Bool, _ progress: inout Progress
    ) throws(RunStop) -> Step {
        let reading = Reading(response)
        counter.attemptEnded(endpoint, CallResult(reading))
        if case .refused(500...599, _) = reading {} else { withLane(endpoint) { $0.answerCame() } }
        if CallResult(reading) != .unauthorized, token == unprovenToken { unprovenToken = nil }
        switch reading {
        case .unauthorized:
            if let stop { throw stop }
            guard isTokenRenewed || token == unprovenToken else { return .renewToken }
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
            withLane(endpoint) { $0.wasRateLimited(at: now, until: now + pause) }
            // An ordered wait is no hammering: it costs an attempt, but not the retry budget.
            return progress.attempts < Self.policy.attemptLimit ? .again : .done(.rateLimited)
        case .refused(let status, let error):
            progress.attempts += 1
            return refusalCame(status, error, to: endpoint, at: now, progress)
        }
    }

    private mutating func refusalCame(
        _ status: Int, _ error: APIErrorBody, to endpoint: Endpoint, at now: Duration,
        _ progress: Progress
    ) -> Step {
        let code = error.errorCode.map { " \($0)" } ?? ""
        let message = error.errorMessage.isEmpty ? "" : ": \(error.errorMessage)"
        let text = "Apple answered \(status)\(code)\(message)"
        // 5000000 included: a server that knows nothing else any more is not working.
        if (500...599).contains(status) {
            withLane(endpoint) { $0.faultOccurred(at: now, text) }
        }
        let failure = RetryPolicy.Failure.answer(status: status, code: error.errorCode)
        guard Self.policy.retries(failure) else {
            return .done(
                .refused(
                    httpStatus: status, errorCode: error.errorCode, message: error.errorMessage))
        }
        return retry(failure, progress, cause: text)
    }

    /// No complete response came.
    ///
    /// - Throws: what ends the run.
    mutating func transferFailed(
        _ error: HTTPTransportError, to endpoint: Endpoint, at now: Duration,
        _ start: EndpointLane.Start, _ progress: inout Progress
    ) throws(RunStop) -> Step {
        switch error {
        case .cancelled:
            requestWasAbandoned(endpoint, at: now, start)
            throw .cancelled
        case .invalidRequest(let text):
            requestWasAbandoned(endpoint, at: now, start)
            throw wasStopped(.misconfigured(text))
        case .bodyTooLarge, .malformedResponse:
            counter.attemptEnded(endpoint, .undecodable)
            withLane(endpoint) { $0.answerCame() }
            return .done(.undecodable(error.description))
        case .untrustedServer(let text):
            counter.attemptEnded(endpoint, .connection)
            let isHopeless = !counter.hasSucceeded
            withLane(endpoint) { lane in
                if isHopeless {
                    lane.hopeWasLost(text)
                } else {
                    lane.faultOccurred(at: now, text)
                }
            }
            return .done(.unavailable(text))
        case .connectionLost where !progress.hasReplacedConnection && isTrusted(endpoint):
            // A server that retires a connection (GOAWAY) takes the requests on it along; every
            // call of ours only reads, so that asking again harms nobody and says nothing about
            // the server.
            counter.attemptEnded(endpoint, .connection)
            progress.hasReplacedConnection = true
            return .again
        case .connectionFailed(let text), .timedOut(let text), .connectionLost(let text):
            counter.attemptEnded(endpoint, .connection)
            progress.attempts += 1
            withLane(endpoint) { $0.faultOccurred(at: now, text) }
            return retry(.connection, progress, cause: text)
        }
    }
}
