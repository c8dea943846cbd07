import Subscriptions

extension AllRules {
    /// `grace_missed`: Apple says billing grace period (4) and the stored value says otherwise, or the
    /// status is the same and the end of the grace period is not.
    ///
    /// The customer keeps access until the grace date; another status or an earlier date of trueup's
    /// locks a paying customer out, hence critical. If both are in the grace period and our date is
    /// later, the customer keeps access: medium. Apple is known to omit the date in a grace period;
    /// then there is no difference of dates. Outside of a grace period a date that Apple does not state
    /// is cleared: medium. Where the status differs, the date is set with it.
    static let graceMissed = StatusRule("GraceMissedRule", version: 2) { comparison in
        guard comparison.stated.status == .billingGracePeriod,
            let ours = comparison.ourStatus, ours != .billingGracePeriod
        else { return nil }
        return comparison.statusDifference(
            .graceMissed, .critical, direction: .customerLoses,
            cause: "billing grace period not recorded")
    }

    /// The part of the rule about the end of the grace period.
    static let graceDate = RowRule("GraceMissedRule", version: 2) { comparison in
        guard comparison.statusAgrees, comparison.differs(in: .gracePeriodExpiresDate) else {
            return []
        }
        let theirs = comparison.stated.renewal.gracePeriodExpiresDate
        guard comparison.stated.status == .billingGracePeriod, let theirs else {
            guard comparison.row.gracePeriodExpiresDate != nil else { return [] }
            return [
                comparison.difference(
                    .graceMissed, .medium, in: .gracePeriodExpiresDate,
                    cause: theirs == nil
                        ? "not in a billing grace period" : "other end of the billing grace period")
            ]
        }
        let isOursLater = comparison.row.gracePeriodExpiresDate.map { $0 > theirs } ?? false
        return [
            comparison.difference(
                .graceMissed, isOursLater ? .medium : .critical, in: .gracePeriodExpiresDate,
                direction: isOursLater ? .companyLoses : .customerLoses,
                cause: "other end of the billing grace period"
            ).stating(priceOf: comparison.stated.transaction)
        ]
    }
}
