import Subscriptions

/// A status that this version does not know leaves the row undecided (`unknown_status`).
///
/// What it entitles to cannot be guessed; the value is reported as `unknown_value`.
struct UnknownStatusRule: DoubtRule {
    static let version = 1

    func doubt(in comparison: Comparison, policy: Policy) -> Doubt? {
        guard !comparison.stated.status.isKnown else { return nil }
        var finding = comparison.finding(
            .unknownValue, .info, cause: "a status that this version does not know")
        finding.field = SubscriptionField.status.rawValue
        finding.localValue = comparison.row.value(of: .status)
        finding.appleValue = comparison.stated.value(of: .status)
        return Doubt(
            reason: .unknownStatus,
            differences: [Difference(finding, payload: comparison.stated.transaction.evidence)])
    }
}
