import Subscriptions

extension AllRules {
    /// `revocation_date`: the status is the same on both sides, and the date of revocation is not.
    ///
    /// Where both are revoked, an empty date of trueup's means that there is none, so it differs from
    /// every date. With any other status, it is not a difference next to a partial refund, which ends no
    /// access. Where Apple states none and the subscription is not revoked, the stored value is
    /// cleared: a refund was reversed. A revoked status without a signed date is a `contradiction` and
    /// does not come here. Where the status differs, the date is set with it.
    static let revocationDate = RowRule("RevocationDateRule", version: 2) { comparison in
        guard comparison.statusAgrees, comparison.differs(in: .revocationDate),
            comparison.row.revocationDate != nil || comparison.stated.status == .revoked
        else { return [] }
        let isReverted = comparison.stated.transaction.revocationDate == nil
        return [
            comparison.difference(
                .revocationDate, .medium, in: .revocationDate,
                cause: isReverted
                    ? "no longer revoked: the refund was reversed" : "other date of revocation")
        ]
    }
}
