import Subscriptions

/// `grace_missed`: Apple says billing grace period (4), ours says otherwise or has another date.
///
/// The customer keeps access until the grace date; another status or an earlier date of ours locks
/// a paying customer out, hence critical. If both are in the grace period and our date is later,
/// nobody is locked out: medium. Apple is known to omit the date; then there is no difference of
/// dates.
struct GraceMissedRule: StatusRule {
    static let version = 1

    func difference(in comparison: Comparison) -> Difference? {
        guard comparison.stated.status == .billingGracePeriod,
            let ours = comparison.ourStatus
        else { return nil }
        guard ours == .billingGracePeriod else {
            return comparison.statusDifference(
                .graceMissed, .critical, direction: .customerLoses,
                cause: "billing grace period not recorded")
        }
        guard comparison.differs(in: .gracePeriodExpiresDate),
            let theirDate = comparison.stated.renewal.gracePeriodExpiresDate
        else { return nil }
        let isOursLater = comparison.row.gracePeriodExpiresDate.map { $0 > theirDate } ?? false
        return comparison.difference(
            .graceMissed, isOursLater ? .medium : .critical, in: .gracePeriodExpiresDate,
            direction: isOursLater ? .companyLoses : .customerLoses,
            cause: "other end of the billing grace period"
        ).stating(priceOf: comparison.stated.transaction)
    }
}
