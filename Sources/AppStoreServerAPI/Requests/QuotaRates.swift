package import Subscriptions

/// How many calls per second this program may make to each endpoint.
package struct QuotaRates: Hashable, Sendable {
    /// Apple, "Identifying rate limits": 50 calls per second per app for each endpoint we use but one.
    package static let productionPerSecond = 50.0
    /// Get Refund History (same page).
    package static let refundsPerSecond = 10.0
    /// The sandbox has a tenth of the production limits (same page).
    package static let sandboxShare = 0.1

    /// The rate of each endpoint but that of refunds.
    private var usual: Double
    private var refunds: Double

    /// Apple's documented limits, times the share that the job may use.
    ///
    /// The company's own servers use the rest of the same quota.
    package static func documented(
        environment: AppStoreEnvironment, share: Double
    ) -> QuotaRates {
        let part =
            switch environment {
            case .production: share
            case .sandbox: sandboxShare * share
            }
        var rates = uniform(requestsPerSecond: productionPerSecond * part)
        rates.refunds = refundsPerSecond * part
        return rates
    }

    /// Returns one rate for every endpoint, as `requests_per_second` sets it; of refunds no more than Apple
    /// allows.
    package static func uniform(requestsPerSecond: Double) -> QuotaRates {
        precondition(requestsPerSecond > 0, "a rate must be above zero")
        return QuotaRates(
            usual: requestsPerSecond, refunds: min(requestsPerSecond, refundsPerSecond))
    }

    /// The whole calls that any hour may have, at least one.
    package func perHour(of endpoint: Endpoint) -> Int {
        Int(max(1, min(perSecond(of: endpoint) * 3600, 1e15)))
    }

    package func perSecond(of endpoint: Endpoint) -> Double {
        endpoint == .refundHistory ? refunds : usual
    }
}
