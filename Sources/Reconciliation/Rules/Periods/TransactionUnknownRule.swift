import Subscriptions

extension AllRules {
    /// `transaction_unknown`: a stored period that Apple's complete history lacks.
    ///
    /// Only a history that was read completely and contains this subscription proves an absence. The
    /// period may be forged or from another environment: high, never corrected.
    static let transactionUnknown = PeriodRule("TransactionUnknownRule") { comparison in
        comparison.unknownToApple.map { period in
            var finding = Finding(
                kind: .transactionUnknown, severity: .high, row: comparison.scoped.row)
            finding.field = period.key.transactionID
            finding.transactionID = period.key.transactionID
            finding.productID = period.productID
            finding.localValue = .text(period.key.transactionID)
            finding.localAsOf = period.signedDate
            finding.amount = period.price
            finding.currency = period.price == nil ? nil : period.currency
            finding.cause = "period unknown to Apple"
            return Difference(finding, payload: nil)
        }
    }
}
