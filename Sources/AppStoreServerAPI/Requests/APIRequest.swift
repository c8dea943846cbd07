/// One call of the App Store Server API, before pacing, authorization and retries.
package struct APIRequest: Sendable {
    package var endpoint: Endpoint
    package var method: String
    /// Path below the base URL, already percent-encoded where needed.
    package var path: String
    /// Name and value pairs; values are percent-encoded when the URL is made.
    package var query: [(name: String, value: String)]
    package var body: [UInt8]?

    package init(
        endpoint: Endpoint, method: String = "GET", path: String,
        query: [(name: String, value: String)] = [], body: [UInt8]? = nil
    ) {
        self.endpoint = endpoint
        self.method = method
        self.path = path
        self.query = query
        self.body = body
    }
}

/// The endpoints that a run calls; each has its own quota.
package enum Endpoint: String, Hashable, Sendable, CaseIterable {
    case subscriptionStatuses = "subscription_statuses"
    case transactionHistory = "transaction_history"
    case transactionInfo = "transaction_info"
    case notificationHistory = "notification_history"
}

/// What came of one call after all pacing and retries.
package enum APIOutcome: Sendable {
    /// A 200 with its body, not yet decoded.
    case answered(body: [UInt8])
    /// A refusal in Apple's words.
    case refused(httpStatus: Int, errorCode: Int, message: String)
    case rateLimited
    case unavailable(String)
    /// The answer is not what the API sends (HTML, a redirect, a body over the limit).
    case undecodable(String)
}
