import Subscriptions

/// `refund_reversal_missed`: the stored value is revoked (5), Apple says active (1) or grace period
/// (4).
///
/// A refund was reversed, or the customer subscribed again: they have paid and are locked out,
/// hence critical.
struct RefundReversalMissedRule: StatusRule {
    func difference(in comparison: Comparison) -> Difference? {
        guard comparison.ourStatus == .revoked, comparison.stated.status.isEntitling
        else { return nil }
        return comparison.statusDifference(
            .refundReversalMissed, .critical, direction: .customerLoses,
            cause: "refund reversal not recorded")
    }
}
