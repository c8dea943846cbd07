import Subscriptions

/// `revocation_missed`: Apple says revoked (5), the stored value still gives access (1 or 4).
///
/// A refund or the end of Family Sharing was missed: the customer has access without paying.
struct RevocationMissedRule: StatusRule {
    func difference(in comparison: Comparison) -> Difference? {
        guard let ours = comparison.ourStatus, ours.isEntitling,
            comparison.stated.status == .revoked
        else { return nil }
        return comparison.statusDifference(
            .revocationMissed, .high, direction: .companyLoses,
            cause: "refund or revocation not recorded")
    }
}
