import Subscriptions

/// A row signed later than Apple's answer is undecided (`newer_locally`).
///
/// An older statement never replaces a newer one: a notification may have arrived during the run,
/// or a proxy replayed an old answer. Equal dates are compared, to the second where ours has no
/// milliseconds.
struct NewerLocallyRule: DoubtRule {
    static let version = 1

    func doubt(in comparison: Comparison, policy: Policy) -> Doubt? {
        guard let ours = comparison.row.signedDate,
            ours.isLater(thanApple: comparison.stated.signedDate)
        else { return nil }
        return Doubt(reason: .newerLocally, differences: [])
    }
}
