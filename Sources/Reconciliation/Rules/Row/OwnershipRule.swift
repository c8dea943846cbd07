import Subscriptions

/// `ownership`: family shared against purchased.
///
/// A type that this version does not know is reported as unknown and never adopted.
struct OwnershipRule: RowRule {
    func differences(in comparison: Comparison) -> [Difference] {
        guard comparison.disagrees(in: .inAppOwnershipType) else { return [] }
        return [
            comparison.difference(
                .ownership, .medium, in: .inAppOwnershipType, cause: "other ownership")
        ]
    }
}
