import Subscriptions

/// `revocation_date`: both sides say revoked, with another date.
///
/// An empty date of ours means that there is none, so it differs from every date. A revoked status
/// without a signed date is a `contradiction` and does not come here.
struct RevocationDateRule: RowRule {
    static let version = 1

    func differences(in comparison: Comparison) -> [Difference] {
        guard comparison.ourStatus == .revoked, comparison.stated.status == .revoked,
            comparison.stated.transaction.revocationDate != nil,
            comparison.differs(in: .revocationDate)
        else { return [] }
        return [
            comparison.difference(
                .revocationDate, .medium, in: .revocationDate,
                cause: "other date of revocation")
        ]
    }
}
