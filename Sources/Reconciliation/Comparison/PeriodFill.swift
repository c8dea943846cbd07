import Subscriptions

/// Fills in empty columns of a stored period from Apple's signed transaction with the same id.
///
/// Other transactions of the same line item (restores, further devices) have other dates, so
/// nothing is taken from them. Columns with a value are never changed.
struct PeriodFill: Hashable, Sendable {
    let period: LocalTransaction
    let transaction: SignedTransaction
    /// The columns to fill in, in the table's order; never empty.
    let fields: [TransactionField]

    /// `nil` when there is nothing to fill in, the transaction has another id, or the row was
    /// signed later.
    init?(of period: LocalTransaction, from transaction: SignedTransaction, policy: Policy) {
        guard period.key.transactionID == transaction.transactionID,
            period.originalTransactionID == transaction.originalTransactionID,
            !(period.signedDate?.isLater(thanApple: transaction.signedDate) ?? false)
        else { return nil }
        let stated = transaction.asLocal(key: period.key)
        let fields = TransactionField.fillable.filter { field in
            period.value(of: field) == .null && stated.value(of: field) != .null
                && policy.writesInPeriods(field)
                && Self.partner(of: field).map { period.agrees(with: stated, in: $0) } ?? true
        }
        guard !fields.isEmpty else { return nil }
        self.period = period
        self.transaction = transaction
        // A row that differs elsewhere was not written from this statement, so its date stays
        // empty.
        let agrees = TransactionField.fillable.allSatisfy {
            period.agrees(with: stated, in: $0)
        }
        self.fields = fields + (period.signedDate == nil && agrees ? [.signedDate] : [])
    }

    /// The column that a value depends on: a price in another currency is another price.
    private static func partner(of field: TransactionField) -> TransactionField? {
        switch field {
        case .price: .currency
        case .currency: .price
        case .revocationReason: .revocationDate
        default: nil
        }
    }

    /// The correction that fills the columns in.
    func correction(of subscription: SubscriptionKey) -> PlannedCorrection {
        let stated = transaction.asLocal(key: period.key)
        var changes: [TransactionField: FieldChange] = [:]
        for field in fields {
            changes[field] = FieldChange(
                before: period.storedValue(of: field), after: stated.value(of: field))
        }
        let named = fields.filter { $0 != .signedDate }.map(\.rawValue)
        return PlannedCorrection(
            target: .updatePeriod(period.key, of: subscription), changes: .period(changes),
            kinds: [], evidence: transaction.evidence.digest, evidenceRenewal: nil,
            appleSignedDate: transaction.signedDate,
            reason: "Fills in what was not known yet of a period: "
                + named.joined(separator: ", ") + ".",
            rules: [ColumnFill.applied])
    }
}

extension LocalTransaction {
    /// Whether a column is empty or equal to the transaction's value.
    fileprivate func agrees(with stated: LocalTransaction, in field: TransactionField) -> Bool {
        switch (value(of: field), stated.value(of: field)) {
        case (.null, _): true
        case (.time(let ours), .time(let theirs)): ours.agrees(withApple: theirs)
        case (let ours, let theirs): ours == theirs
        }
    }
}

extension Policy {
    /// Whether a column of a stored period may be filled in.
    ///
    /// Price and currency always are, as in the insert of a period; only differences in them are
    /// report-only.
    func writesInPeriods(_ field: TransactionField) -> Bool {
        [.price, .currency].contains(field) || !reportOnlyFields.contains(field.rawValue)
    }
}
