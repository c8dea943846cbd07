import Subscriptions

extension AllRules {
    /// `expiry`: the end of the paid period differs.
    ///
    /// It harms the customer when the stored value is earlier, the company when the stored value is
    /// later. A local time without milliseconds is compared to the second. Another end is another
    /// period, so the ids of the current period are corrected with it. Where Apple extended only the
    /// renewal date, an end up to that date is not a difference. A later end is reported and not
    /// corrected, because the signed end is earlier than the extension that Apple granted.
    static let expiry = RowRule("ExpiryRule", version: 2) { comparison in
        guard let ours = comparison.row.expiresDate,
            let theirs = comparison.stated.transaction.expiresDate,
            !comparison.agrees(ours, theirs, in: .expiresDate), !comparison.isWithinExtension
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
