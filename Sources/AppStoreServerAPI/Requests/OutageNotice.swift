package import Subscriptions

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
    /// What happened last.
    package var cause: String

    package var sentence: String {
        let name = "\(endpoint.rawValue) of \(app.bundleID) (\(app.environment.rawValue))"
        // Apple's own words are often a sentence.
        let cause = cause.hasSuffix(".") ? String(cause.dropLast()) : cause
        switch event {
        case .waits(let until, let givesUpAt):
            return "\(name) does not work: \(cause). Waiting until \(until.rfc3339) before asking"
                + " again; given up at \(givesUpAt.rfc3339)."
        case .worksAgain(let seconds):
            return "\(name) works again after \(seconds) seconds; the run goes on."
        case .gaveUp: return "\(name) is given up for this run: \(cause)."
        }
    }
}
