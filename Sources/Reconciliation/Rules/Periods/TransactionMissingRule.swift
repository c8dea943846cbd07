import Subscriptions

/// `transaction_missing`: a period in Apple's history that we do not hold.
///
/// Only where period rows are kept of the subscription. Medium; high if it entitles now. Periods
/// are told apart by web order line item: restores and further devices make other transactions of
/// the same one. `field` is the transaction id, for a row may lack several.
struct TransactionMissingRule: PeriodRule {
    static let version = 1

    func differences(in comparison: PeriodComparison) -> [Difference] {
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
