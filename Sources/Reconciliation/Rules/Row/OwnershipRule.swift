import Subscriptions

/// `ownership`: family shared against purchased.
///
/// A type that this version does not know is reported as unknown and never written.
struct OwnershipRule: RowRule {
    static let version = 1

    func differences(in comparison: Comparison) -> [Difference] {
        guard comparison.disagrees(in: .inAppOwnershipType) else { return [] }
        return [
            comparison.difference(
                .ownership, .medium, in: .inAppOwnershipType, cause: "other ownership")
        ]
    }
}
