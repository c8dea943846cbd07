import HTTPTransport
import Subscriptions

/// What people are told of the pace; collected under the lock, told by `PacedRequests` after it.
extension RequestState {
    /// Waits for the share of the quota up to this long are part of an even pace, and not told.
    ///
    /// The window of an hour moves on in steps of this length.
    private static let untoldWait: Duration = .seconds(2 * QuotaWindow.bucketSeconds)
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
        case .quotaUsedUp: guard end - now > Self.untoldWait else { return }
        case .slowTurn:
            // Whoever comes later waits for a later turn; the run goes on with the first.
            guard end - now > Self.untoldWait, toldWaits[endpoint] == nil else { return }
        }
        if let told = toldWaits[endpoint], end <= told + Self.sameEnd { return }
        toldWaits[endpoint] = end
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

    /// What an earlier process was told still holds, or another one has just been told.
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
