import Subscriptions

extension AllRules {
    /// `product`: an upgrade, downgrade or crossgrade was missed.
    ///
    /// The current product is the signed transaction's; what is chosen for the next period is a
    /// renewal preference. A change of product begins a new period, whose ids move with it.
    static let product = RowRule("ProductRule") { comparison in
        guard comparison.disagrees(in: .productID) else { return [] }
        return [
            comparison.difference(
                .product, .high, in: .productID, cause: "change of product not recorded",
                companions: [.latestTransactionID, .webOrderLineItemID])
        ]
    }
}
