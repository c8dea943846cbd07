import Subscriptions

extension AllRules {
    /// `latest_transaction`: the ids of the current period differ, and no other finding covers that.
    ///
    /// Findings about another end, another product or regained access already mean another period.
    /// Another transaction of the same web order line item is not a difference where Apple's history
    /// shows it (a restore, a second device); any other id is wrong.
    static let latestTransaction = RowRule("LatestTransactionRule", version: 2) { comparison in
        guard !tellsOtherwise(comparison) else { return [] }
        let hasOtherItem = comparison.disagrees(in: .webOrderLineItemID)
        guard hasOtherItem || comparison.disagrees(in: .latestTransactionID) else { return [] }
        let hasOtherID =
            comparison.row.latestTransactionID != nil
            && comparison.row.latestTransactionID != comparison.stated.transaction.transactionID
        return [
            comparison.difference(
                .latestTransaction, .medium,
                in: hasOtherID ? .latestTransactionID : .webOrderLineItemID,
                cause: "current transaction not recorded",
                companions: [.latestTransactionID, .webOrderLineItemID])
        ]
    }

    private static func tellsOtherwise(_ comparison: Comparison) -> Bool {
        comparison.disagrees(in: .expiresDate) || comparison.disagrees(in: .productID)
            || accessMissing.find(comparison) != nil
    }
}
