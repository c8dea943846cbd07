import Subscriptions

/// `expiry`: the end of the paid period differs.
///
/// The direction says whom it harms: the customer when ours is earlier, the company when later. A
/// local time without milliseconds is compared to the second. Another end is another period, so
/// the ids of the current period move with it.
struct ExpiryRule: RowRule {
    static let version = 1

    func differences(in comparison: Comparison) -> [Difference] {
        guard let ours = comparison.row.expiresDate,
            let theirs = comparison.stated.transaction.expiresDate,
            !ours.agrees(withApple: theirs)
        else { return [] }
        return [
            comparison.difference(
                .expiry, .high, in: .expiresDate,
                direction: ours < theirs ? .customerLoses : .companyLoses,
                cause: ours < theirs ? "renewal not recorded" : "shortened period not recorded",
                companions: [.latestTransactionID, .webOrderLineItemID]
            ).stating(priceOf: comparison.stated.transaction)
        ]
    }
}
