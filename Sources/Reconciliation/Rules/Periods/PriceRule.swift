import Subscriptions

extension AllRules {
    /// `price`: price or currency of a period differs from what Apple signed.
    ///
    /// Report-only: Apple's financial reports say what was paid out, and an upgraded transaction keeps
    /// its full price. Amounts are milliunits; `amount` is the difference. A row is compared with the
    /// transaction of its own id, or with the first purchase of its line item where Apple does not show
    /// that transaction. Apple's `price` of a purchase of seats is the average of one of them, so a row may
    /// hold that or the sum over the price tiers; where seats were added to a period, one row may hold the
    /// sum of all its purchases.
    static let price = PeriodRule("PriceRule", version: 3) { comparison in
        comparison.priced.flatMap { period -> [Difference] in
            let locals = comparison.scoped.periods.filter(period.includes)
                .sorted { $0.key < $1.key }
            guard period.purchases.count > 1 else {
                return locals.first.map { differences(of: $0, in: period, comparison) } ?? []
            }
            // One row may represent all purchases of the period.
            if locals.count == 1, locals[0].price == period.price, locals[0].price != nil {
                return currency(of: locals[0], period.transaction, comparison).map { [$0] } ?? []
            }
            return locals.filter { comparison.ownTransaction(of: $0) != nil }
                .flatMap { differences(of: $0, in: period, comparison) }
        }
    }

    private static func differences(
        of local: LocalTransaction, in period: StatedPeriod, _ comparison: PeriodComparison
    ) -> [Difference] {
        let apples = comparison.ownTransaction(of: local) ?? period.transaction
        return [
            currency(of: local, apples, comparison), price(of: local, apples, comparison),
        ].compactMap { $0 }
    }

    private static func price(
        of local: LocalTransaction, _ apples: SignedTransaction, _ comparison: PeriodComparison
    ) -> Difference? {
        guard let ours = local.price, let theirs = apples.price, ours != theirs,
            ours != apples.seats?.pricePerSeat
        else { return nil }
        var difference = finding(.price, local, apples, comparison)
        let (amount, overflow) = theirs.subtractingReportingOverflow(ours)
        if !overflow, amount != .min, local.currency ?? apples.currency == apples.currency {
            difference.finding.amount = abs(amount)
            difference.finding.currency = apples.currency
        }
        return difference
    }

    private static func currency(
        of local: LocalTransaction, _ apples: SignedTransaction, _ comparison: PeriodComparison
    ) -> Difference? {
        guard let ours = local.currency, let theirs = apples.currency, ours != theirs else {
            return nil
        }
        return finding(.currency, local, apples, comparison)
    }

    /// `field` names the period too: a row may have several findings of this kind.
    private static func finding(
        _ field: TransactionField, _ local: LocalTransaction, _ apples: SignedTransaction,
        _ comparison: PeriodComparison
    ) -> Difference {
        var finding = Finding(kind: .price, severity: .medium, row: comparison.scoped.row)
        finding.field = "\(field.rawValue):\(local.key.transactionID)"
        finding.transactionID = local.key.transactionID
        finding.productID = local.productID ?? apples.productID
        finding.localValue = local.value(of: field)
        finding.appleValue =
            field == .price ? FieldValue(apples.price) : FieldValue(apples.currency)
        finding.localAsOf = local.signedDate
        finding.appleAsOf = apples.signedDate
        finding.cause = "other price of a period"
        return Difference(finding, payload: apples.evidence)
    }
}
