import Subscriptions

extension AllRules {
    /// `overlapping_subscriptions`: one customer pays Apple and another source for the same.
    ///
    /// The row's `paid_elsewhere_until`, which the company imports, is later than Apple's statement, and that
    /// states a purchased subscription which gives access. Medium, on the row, with Apple's end of the period
    /// as `apple_value`. Only the customer or the company can end one of the two: never corrected.
    static let paidElsewhere = RowRule("PaidElsewhereRule") { comparison in
        let stated = comparison.stated
        guard let until = comparison.row.paidElsewhereUntil, until > stated.signedDate,
            stated.status.isEntitling, stated.isPurchased, !stated.transaction.isUpgraded
        else { return [] }
        var finding = comparison.finding(
            .overlappingSubscriptions, .medium, cause: "also paid through another source")
        finding.field = SubscriptionField.paidElsewhereUntil.rawValue
        finding.localValue = .time(until)
        finding.appleValue = FieldValue(stated.transaction.expiresDate)
        finding.direction = .customerLoses
        return [
            Difference(finding, payload: stated.transaction.evidence)
                .stating(priceOf: stated.transaction)
        ]
    }
}
