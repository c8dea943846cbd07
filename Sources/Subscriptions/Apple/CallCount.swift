/// How many calls of an endpoint ended in one way.
package struct CallCount: Hashable, Sendable {
    /// `subscription_statuses`, `transaction_history`, `transaction_info`, `notification_history`.
    package var endpoint: String
    /// `ok`, `not_found`, `rate_limited`, `server_error`, `connection`, `undecodable`, `refused`,
    /// `unauthorized`.
    package var result: String
    package var calls: Int

    package init(endpoint: String, result: String, calls: Int) {
        self.endpoint = endpoint
        self.result = result
        self.calls = calls
    }
}
