import Subscriptions

extension AllRules {
    /// `ownership`: family shared against purchased.
    ///
    /// A type that this version does not know is reported as unknown and never adopted.
    static let ownership = RowRule("OwnershipRule") { comparison in
        guard comparison.disagrees(in: .inAppOwnershipType) else { return [] }
        return [
            comparison.difference(
                .ownership, .medium, in: .inAppOwnershipType, cause: "other ownership")
        ]
    }
}
