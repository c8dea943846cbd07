import Subscriptions

/// `expiry`: the end of the paid period differs.
///
/// The direction says whom it harms: the customer when ours is earlier, the company when later. A
/// local time without milliseconds is compared to the second. Another end is another period, so
/// the ids of the current period move with it. Where Apple extended the renewal date alone, an end
/// up to it is no difference; a still later one is reported and not written, for the only signed
/// end that could be written lies before the one that Apple promised.
struct ExpiryRule: RowRule {
    static let version = 2

    func differences(in comparison: Comparison) -> [Difference] {
        guard let ours = comparison.row.expiresDate,
            let theirs = comparison.stated.transaction.expiresDate,
            !ours.agrees(withApple: theirs), !comparison.isWithinExtension
        else { return [] }
        var difference = comparison.difference(
            .expiry, .high, in: .expiresDate,
            direction: ours < theirs ? .customerLoses : .companyLoses,
            cause: ours < theirs ? "renewal not recorded" : "shortened period not recorded",
            companions: [.expiresDate, .latestTransactionID, .webOrderLineItemID]
        ).stating(priceOf: comparison.stated.transaction)
        if ours > theirs, comparison.extendedEnd != nil {
            difference.column = nil
            difference.finding.cause = "later than an extended renewal date"
        }
        return [difference]
    }
}
