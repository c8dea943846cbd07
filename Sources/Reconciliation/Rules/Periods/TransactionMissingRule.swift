import Subscriptions

extension AllRules {
    /// `transaction_missing`: a period in Apple's history that we do not hold.
    ///
    /// Only where periods of the subscription are stored. Medium; high if it entitles now. The web
    /// order line item identifies a period, because restores and further devices have transactions of
    /// their own for it. `field` is the transaction id, because a subscription may lack several
    /// periods.
    static let transactionMissing = PeriodRule("TransactionMissingRule") { comparison in
        guard comparison.areKept else { return [] }
        return comparison.missing.map { period in
            let transaction = period.transaction
            let entitles = period.entitles(at: comparison.now)
            var finding = Finding(
                kind: .transactionMissing, severity: entitles ? .high : .medium,
                row: comparison.scoped.row)
            finding.field = transaction.transactionID
            finding.transactionID = comparison.transactionID(of: period)
            finding.productID = transaction.productID
            finding.appleValue = .text(transaction.transactionID)
            finding.appleAsOf = transaction.signedDate
            finding.changedAt = transaction.purchaseDate
            finding.direction = entitles ? .customerLoses : .neutral
            finding.cause = "period not recorded"
            return Difference(finding, payload: transaction.evidence)
                .stating(priceOf: transaction)
        }
    }
}
