import Subscriptions

extension AllRules {
    /// `access_missing`: Apple says active (1), the stored value is expired (2) or in billing retry
    /// (3).
    ///
    /// The customer has paid and is harmed, hence critical: a renewal, a recovery from billing retry or
    /// a new subscription was missed.
    static let accessMissing = StatusRule("AccessMissingRule") { comparison in
        guard let ours = comparison.ourStatus, ours == .expired || ours == .billingRetry,
            comparison.stated.status == .active
        else { return nil }
        return comparison.statusDifference(
            .accessMissing, .critical, direction: .customerLoses, cause: "renewal not recorded")
    }
}
