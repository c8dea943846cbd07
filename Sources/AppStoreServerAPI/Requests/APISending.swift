package import Subscriptions

/// Sends calls: paced, authorized, retried.
///
/// There is one for each app.
package protocol APISending: Sendable {
    func send(_ request: APIRequest) async throws(RunStop) -> APIOutcome

    /// Why an endpoint was given up for this run; `nil` while it is asked.
    func givenUp(_ endpoint: Endpoint) -> String?

    /// Calls so far, by endpoint and result.
    func callCounts() -> [CallCount]

    /// Tells the counters that a 200 of this endpoint could not be decoded after all.
    func countUndecodable(_ endpoint: Endpoint)

    /// What a person should know of the answers so far, in sentences.
    func remarks() -> [String]
}

extension APISending {
    package func remarks() -> [String] { [] }
}
