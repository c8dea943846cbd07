import Subscriptions

/// `status`: any difference of status that no other rule names.
///
/// For example a recovery out of the grace period (4 to 1), or expired against billing retry: what
/// the customer may use is the same on both sides.
struct OtherStatusRule: StatusRule {
    static let version = 1

    func difference(in comparison: Comparison) -> Difference? {
        guard let ours = comparison.ourStatus, ours != comparison.stated.status else { return nil }
        return comparison.statusDifference(
            .status, .medium, direction: .neutral, cause: "change of status not recorded")
    }
}
