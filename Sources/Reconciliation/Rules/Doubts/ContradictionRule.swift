import Subscriptions

/// `contradiction`: Apple's unsigned status contradicts the signed payloads beside it.
///
/// Only TLS protects the status; the payloads are signed. Where both cannot be true it is unknown
/// which one is, so the row is undecided and nothing is written. Only clear cases count, because
/// Apple's data has harmless inconsistencies: see `StatedSubscription.contradiction`.
struct ContradictionRule: DoubtRule {
    static let version = 1

    func doubt(in comparison: Comparison, policy: Policy) -> Doubt? {
        guard let reason = comparison.stated.contradiction else { return nil }
        var finding = comparison.finding(.contradiction, .medium, cause: reason)
        finding.field = SubscriptionField.status.rawValue
        finding.localValue = comparison.row.value(of: .status)
        finding.appleValue = comparison.stated.value(of: .status)
        return Doubt(
            reason: .contradiction,
            differences: [Difference(finding, payload: comparison.stated.transaction.evidence)])
    }
}
