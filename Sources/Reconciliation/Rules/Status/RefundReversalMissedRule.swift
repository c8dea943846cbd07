import Subscriptions

extension AllRules {
    /// `refund_reversal_missed`: the stored value is revoked (5), Apple says active (1) or grace period
    /// (4).
    ///
    /// A refund was reversed, or the customer subscribed again: they have paid and are locked out,
    /// hence critical.
    static let refundReversalMissed = StatusRule("RefundReversalMissedRule") { comparison in
        guard comparison.ourStatus == .revoked, comparison.stated.status.isEntitling
        else { return nil }
        return comparison.statusDifference(
            .refundReversalMissed, .critical, direction: .customerLoses,
            cause: "refund reversal not recorded")
    }
}
