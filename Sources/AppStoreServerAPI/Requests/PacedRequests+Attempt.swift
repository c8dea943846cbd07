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
    /// The token is made when the request starts, however long it waited: another one than
    /// `refusedToken` where Apple refused that. What comes back names the token that was used, for
    /// the case that it was refused.
    func attempt(
        _ message: HTTPRequest, at endpoint: Endpoint, refusedToken: String?,
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
            token = try self.token(after: refusedToken)
        } catch {
            let now = time.now()
            state.withLock { $0.requestWasAbandoned(endpoint, at: now, start) }
            throw error
        }
        var sent = message
        if case .check(let answered) = start { sent = answered }
        let attempt = RequestState.Attempt(
            endpoint: endpoint, start: start, message: sent, token: token,
            isTokenRenewed: refusedToken != nil)
        let step = try settle(attempt, await exchange(sent, token: token), &progress)
        guard start.isCheck else { return (step, token) }
        // The check's answer is nobody's; the question that waited for it comes next.
        if case .renewToken = step { return (step, token) }
        return (.again, token)
    }

    /// Lets everybody know what came, and says what the call does next.
    private func settle(
        _ attempt: RequestState.Attempt, _ result: Result<HTTPResponse, HTTPTransportError>,
        _ progress: inout RequestState.Progress
    ) throws(RunStop) -> RequestState.Step {
        let now = time.now()
        let wallClock = wallClock()
        var changed = progress
        defer {
            if !attempt.start.isCheck { progress = changed }
            for notice in state.withLock({ $0.takeNotices() }) { hear(notice) }
        }
        return try state.withLock { state throws(RunStop) in
            switch result {
            case .success(let response):
                return try state.responseCame(
                    response, to: attempt, at: now, wallClock: wallClock, &changed)
            case .failure(let error):
                let step = try state.transferFailed(
                    error, of: attempt, at: now, wallClock: wallClock, &changed)
                // Cut off by the deadline: the next attempt would not be made either.
                if isPastDeadline(now) { throw RunStop.deadlineReached }
                return step
            }
        }
    }

    private func exchange(
        _ message: HTTPRequest, token: String
    ) async -> Result<HTTPResponse, HTTPTransportError> {
        var message = message
        message.headers.append(("Authorization", "Bearer \(token)"))
        // What was asked in time may still be answered a moment later, but not much later.
        message.timeLimit = deadline.map { max(.zero, $0 - time.now()) + Self.lastAnswers }
        do throws(HTTPTransportError) {
            return .success(try await transport.send(message))
        } catch {
            return .failure(error)
        }
    }

    /// How long after the deadline an answer may come to what was asked before it.
    private static let lastAnswers: Duration = .seconds(2)

    /// Waits for a slot of the endpoint, and for as long as the endpoint is paused or broken.
    private func admission(to endpoint: Endpoint) async throws(RunStop) -> Admitted {
        while true {
            if Task.isCancelled { throw .cancelled }
            let now = time.now()
            if isPastDeadline(now) { throw .deadlineReached }
            let admission = try state.withLock { state throws(RunStop) in
                try state.requestWasWanted(endpoint, at: now)
            }
            switch admission {
            case .refused(let text):
                return .never("\(endpoint.rawValue) does not work, given up for this run: \(text)")
            case .broken(let until), .postponed(let until):
                // No fault of the quota: what does not work now has no time left to work again.
                if isPastDeadline(until) { throw .deadlineReached }
                try await wait(until: until)
            case .paused(let until):
                try await waitAsOrdered(until: until)
            case .slot(let slot, isQuotaUsedUp: true):
                try await waitAsOrdered(until: slot)
                if let start = try startNow(endpoint) { return .starting(start) }
            case .slot(let slot, isQuotaUsedUp: false):
                // With its share of the quota, the run was not done in its time.
                if isPastDeadline(slot) { throw .deadlineReached }
                if slot > now { try await wait(until: slot) }
                if let start = try startNow(endpoint) { return .starting(start) }
            }
        }
    }

    private func startNow(_ endpoint: Endpoint) throws(RunStop) -> EndpointLane.Start? {
        let now = time.now()
        return try state.withLock { state throws(RunStop) in
            try state.slotCame(endpoint, at: now)
        }
    }

    /// The wait that a 429 ordered, or the hour's limit.
    private func waitAsOrdered(until end: Duration) async throws(RunStop) {
        guard !isPastDeadline(end) else {
            throw .quotaWaitPastDeadline(until: wallClock().adding(end - time.now()))
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

    private func token(after refused: String?) throws(RunStop) -> String {
        if let refused { return try newToken(after: refused) }
        do throws(AuthorizationError) {
            return try tokens.current()
        } catch {
            throw noToken(error)
        }
    }

    /// A token other than the refused one, the same for all who were refused with it.
    private func newToken(after refused: String) throws(RunStop) -> String {
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
