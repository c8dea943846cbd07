import Subscriptions

extension AllRules {
    /// `access_unpaid`: Apple says expired (2) or billing retry (3), the stored value gives access (1
    /// or 4).
    ///
    /// The customer no longer pays and still has access.
    static let accessUnpaid = StatusRule("AccessUnpaidRule") { comparison in
        guard let ours = comparison.ourStatus, ours.isEntitling,
            comparison.stated.status == .expired || comparison.stated.status == .billingRetry
        else { return nil }
        return comparison.statusDifference(
            .accessUnpaid, .high, direction: .companyLoses,
            cause: "expiration or billing failure not recorded")
    }
}
