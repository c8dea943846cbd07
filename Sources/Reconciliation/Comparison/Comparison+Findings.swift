import Subscriptions

extension Comparison {
    /// A finding about a column: both values, both times and the payload that states Apple's.
    func difference(
        _ kind: FindingKind, _ severity: Severity, in field: SubscriptionField,
        direction: Direction = .neutral, cause: String, companions: Set<SubscriptionField> = []
    ) -> Difference {
        var finding = finding(kind, severity, cause: cause)
        finding.field = field.rawValue
        finding.localValue = row.value(of: field)
        finding.appleValue = stated.value(of: field)
        finding.direction = direction
        return Difference(
            finding, payload: stated.payload(of: field), column: field, companions: companions)
    }

    /// A finding about the row as a whole, on the word of Apple's statement.
    func finding(_ kind: FindingKind, _ severity: Severity, cause: String) -> Finding {
        var finding = Finding(kind: kind, severity: severity, row: row)
        finding.transactionID = stated.transaction.transactionID
        finding.productID = row.productID ?? stated.transaction.productID
        finding.appleAsOf = stated.signedDate
        finding.cause = cause
        finding.changedAt = changeDate(of: kind)
        return finding
    }
}

extension Difference {
    /// The same with the price of the signed transaction: what is at stake in the period.
    func stating(priceOf transaction: SignedTransaction) -> Difference {
        var copy = self
        copy.finding.amount = transaction.price
        copy.finding.currency = transaction.price == nil ? nil : transaction.currency
        return copy
    }
}
