import Subscriptions

extension AllRules {
    /// `revocation_missed`: Apple says revoked (5), the stored value still gives access (1 or 4).
    ///
    /// A refund or the end of Family Sharing was missed: the customer has access without paying.
    static let revocationMissed = StatusRule("RevocationMissedRule") { comparison in
        guard let ours = comparison.ourStatus, ours.isEntitling,
            comparison.stated.status == .revoked
        else { return nil }
        return comparison.statusDifference(
            .revocationMissed, .high, direction: .companyLoses,
            cause: "refund or revocation not recorded")
    }
}
