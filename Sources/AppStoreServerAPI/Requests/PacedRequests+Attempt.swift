import HTTPTransport
import Subscriptions
import Synchronization

/// One attempt of a call: admission, token, exchange.
extension PacedRequests {
    private enum Admitted {
        case starting(EndpointLane.Start)
        case never(String)
    }

    /// Sends once, when it is allowed to.
    ///
    /// `renewedToken` is used instead of the current one. What comes back names the token that was
    /// used, for the case that it was refused.
    func attempt(
        _ message: HTTPRequest, at endpoint: Endpoint, renewedToken: String?,
        _ progress: inout RequestState.Progress
    ) async throws(RunStop) -> (step: RequestState.Step, token: String) {
        guard let gate = gates[endpoint] else { preconditionFailure("an endpoint without a gate") }
        try await gate.enter()
        defer { gate.leave() }
        let start: EndpointLane.Start
        switch try await admission(to: endpoint) {
        case .starting(let admitted): start = admitted
        case .never(let text): return (.done(.unavailable(text)), "")
        }
        let token: String
        do throws(RunStop) {
            token = try currentToken(renewedToken)
        } catch {
            let now = time.now()
            state.withLock { $0.requestWasAbandoned(endpoint, at: now, start) }
            throw error
        }
        let result = await exchange(message, token: token)
        let now = time.now()
        let wallClock = wallClock()
        var changed = progress
        defer { progress = changed }
        let step = try state.withLock { state throws(RunStop) in
            switch result {
            case .success(let response):
                try state.responseCame(
                    response, to: endpoint, at: now, wallClock: wallClock,
                    token: token, isTokenRenewed: renewedToken != nil, &changed)
            case .failure(let error):
                try state.transferFailed(error, to: endpoint, at: now, start, &changed)
            }
        }
        return (step, token)
    }

    private func exchange(
        _ message: HTTPRequest, token: String
    ) async -> Result<HTTPResponse, HTTPTransportError> {
        var message = message
        message.headers.append(("Authorization", "Bearer \(token)"))
        do throws(HTTPTransportError) {
            return .success(try await transport.send(message))
        } catch {
            return .failure(error)
        }
    }

    /// Waits for a slot of the endpoint, and for as long as the endpoint is paused or broken.
    private func admission(to endpoint: Endpoint) async throws(RunStop) -> Admitted {
        while true {
            if Task.isCancelled { throw .cancelled }
            let now = time.now()
            let admission = try state.withLock { state throws(RunStop) in
                try state.requestWasWanted(endpoint, at: now)
            }
            switch admission {
            case .refused(let text):
                return .never("\(endpoint.rawValue) does not work, given up for this run: \(text)")
            case .broken(let until):
                if isPastDeadline(until) {
                    return .never("\(endpoint.rawValue) does not work, and the deadline is near")
                }
                try await wait(until: until)
            case .paused(let until):
                try await waitAsOrdered(until: until)
            case .slot(let slot):
                // No fault of the quota: with its share, the run was not done in its time.
                if slot > now, isPastDeadline(slot) {
                    return .never("the next free slot of the quota lies after the deadline")
                }
                if slot > now { try await wait(until: slot) }
                let start = try state.withLock { state throws(RunStop) in
                    try state.slotCame(endpoint, at: time.now())
                }
                if let start { return .starting(start) }
            }
        }
    }

    /// The wait that a 429 ordered.
    private func waitAsOrdered(until end: Duration) async throws(RunStop) {
        guard !isPastDeadline(end) else {
            let (seconds, attoseconds) = (end - time.now()).components
            let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
            throw .quotaWaitPastDeadline(until: wallClock().adding(milliseconds: milliseconds))
        }
        try await wait(until: end)
    }

    func isPastDeadline(_ moment: Duration) -> Bool {
        deadline.map { moment > $0 } ?? false
    }

    func wait(until end: Duration) async throws(RunStop) {
        do {
            try await time.sleep(end)
        } catch {
            throw .cancelled
        }
    }

    private func currentToken(_ renewed: String?) throws(RunStop) -> String {
        if let renewed { return renewed }
        do throws(AuthorizationError) {
            return try tokens.current()
        } catch {
            throw noToken(error)
        }
    }

    /// A token other than the refused one, the same for all who were refused with it.
    func newToken(after refused: String) throws(RunStop) -> String {
        do throws(AuthorizationError) {
            let token = try tokens.renewed(after: refused)
            state.withLock { $0.unprovenToken = token }
            return token
        } catch {
            throw noToken(error)
        }
    }

    private func noToken(_ error: AuthorizationError) -> RunStop {
        state.withLock { $0.wasStopped(.denied("no token could be signed: \(error)")) }
    }
}
