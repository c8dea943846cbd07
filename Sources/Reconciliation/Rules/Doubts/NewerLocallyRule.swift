import Subscriptions

extension AllRules {
    /// An answer of Apple's that is older than what is known of the row leaves it undecided
    /// (`newer_locally`).
    ///
    /// An older statement never replaces a newer one: a notification may have arrived during the run, or
    /// a proxy replayed an old answer. What is known is the row's own `signed_date` and the newest
    /// verified statement that any run has seen, also where it found agreement and wrote nothing. Equal
    /// dates are compared, to the second where the row's has no milliseconds. A date after the run's
    /// clock counts as none.
    static let newerLocally = DoubtRule("NewerLocallyRule", version: 2) { comparison, policy in
        let stated = comparison.stated.signedDate
        let row = comparison.row.signedDate.map { ours in
            !ours.isAhead(of: policy.now) && ours.isLater(thanApple: stated)
        }
        let seen = comparison.scoped.newestStatement.map { newest in
            !newest.isAhead(of: policy.now) && newest > stated
        }
        guard row == true || seen == true else { return nil }
        return .undecided(.newerLocally)
    }
}
