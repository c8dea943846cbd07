import Subscriptions

/// `revocation_date`: both sides say revoked, with another date.
///
/// An empty date in a row with a status says that there is none, so it differs from any. Apple
/// stating none is no revocation at all: a `contradiction`, which ends the judgement before.
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
