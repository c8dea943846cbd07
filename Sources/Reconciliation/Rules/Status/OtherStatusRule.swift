import Subscriptions

extension AllRules {
    /// `status`: any difference of status that no other rule covers.
    ///
    /// For example a recovery from the grace period (4 to 1), or expired instead of billing retry:
    /// access is the same on both sides.
    static let otherStatus = StatusRule("OtherStatusRule") { comparison in
        guard let ours = comparison.ourStatus, ours != comparison.stated.status else { return nil }
        return comparison.statusDifference(
            .status, .medium, direction: .neutral, cause: "change of status not recorded")
    }
}
