package import Subscriptions

/// A message for people and the log about the pace of the calls to one endpoint.
package struct PacingNotice: Hashable, Sendable {
    package enum Event: Hashable, Sendable {
        /// The endpoint does not work, works again, or is given up.
        case outage(OutageNotice)
        /// Nothing is asked for a while.
        case wait(PacingWait)
        /// The rate was halved after a 429, or is back at what is configured.
        case rate(perSecond: Double, configured: Double)
        /// So many faults came in a row that only single requests try the endpoint from now on.
        case breakerOpened(cause: String)
        case breakerClosed
        /// Failed calls are made again: how many so far, told at 1, 2, 4, 8 and so on.
        case retries(Int, cause: String)
    }

    package var app: AppIdentity
    package var endpoint: Endpoint
    package var event: Event
}

/// A wait that is not an outage: why, and until when.
package struct PacingWait: Hashable, Sendable {
    package enum Reason: Hashable, Sendable {
        /// All processes together have made the calls that an hour may have.
        case quotaUsedUp(callsPerHour: Int)
        /// The share allows so few calls that the next one is far away.
        case slowTurn
        /// Apple answered 429.
        case rateLimited
        /// A failing server asked for a pause.
        case postponed
    }

    package var reason: Reason
    /// When the run continues.
    package var until: Timestamp
    /// Whether the run ends instead of waiting, because its deadline comes first.
    package var isPastDeadline: Bool

    /// A short name of the reason, for logs.
    package var name: String {
        switch reason {
        case .quotaUsedUp: "quota"
        case .slowTurn: "turn"
        case .rateLimited: "rate_limited"
        case .postponed: "postponed"
        }
    }

    /// A sentence without its subject, for a line of its own.
    package var sentence: String {
        let why =
            switch reason {
            case .quotaUsedUp(let calls):
                "this hour's share of the quota is used up: this and earlier runs have made all"
                    + " \(calls) \(calls == 1 ? "call" : "calls") that it allows"
            case .slowTurn: "the share of the quota allows a call only after a long pause"
            case .rateLimited: "Apple answered 429: its quota is used up"
            case .postponed: "the server failed and asked for a pause"
            }
        guard isPastDeadline else { return "\(why). The run waits until \(until.rfc3339)." }
        return "\(why). The next call is possible at \(until.rfc3339), after this run's deadline."
    }
}

extension PacingNotice {
    /// The sentence that a person reads at once; `nil` for what is only of interest in the log.
    package var sentence: String? {
        let name = "\(endpoint.rawValue) of \(app.bundleID) (\(app.environment.rawValue))"
        switch event {
        case .outage(let outage): return outage.sentence
        case .wait(let wait): return "\(name): \(wait.sentence)"
        case .rate, .breakerOpened, .breakerClosed, .retries: return nil
        }
    }
}

/// A notice for people about an endpoint that does not work.
package struct OutageNotice: Hashable, Sendable {
    package enum Event: Hashable, Sendable {
        /// No request until the first time; at the second the endpoint is given up.
        case waits(until: Timestamp, givesUpAt: Timestamp)
        case worksAgain(afterSeconds: Int64)
        case gaveUp
    }

    package var app: AppIdentity
    package var endpoint: Endpoint
    package var event: Event
    /// The last event.
    package var cause: String

    package var sentence: String {
        let name = "\(endpoint.rawValue) of \(app.bundleID) (\(app.environment.rawValue))"
        // Apple's own words are often a sentence.
        let cause = cause.hasSuffix(".") ? String(cause.dropLast()) : cause
        switch event {
        case .waits(let until, let givesUpAt):
            return "\(name) does not work: \(cause). The run tries again at \(until.rfc3339), and"
                + " gives the endpoint up at \(givesUpAt.rfc3339)."
        case .worksAgain(let seconds):
            return "\(name) works again after \(seconds) seconds. The run continues."
        case .gaveUp: return "\(name) does not work, and this run gives it up: \(cause)."
        }
    }
}
