import Subscriptions

/// What Apple's signed transaction states in columns that are empty in the stored row of the same
/// transaction.
///
/// A stored period is the one transaction that its id names. Other transactions of the same line
/// item (restores, further devices) have dates of their own: nothing is filled in from them. What
/// stands in a column stays, whatever Apple states.
struct PeriodFill: Hashable, Sendable {
    let period: LocalTransaction
    let transaction: SignedTransaction
    /// The columns to fill in, in the table's order; never empty.
    let fields: [TransactionField]

    /// `nil` when there is nothing to fill in, the transaction is another than the row's, or the row
    /// rests on a later statement.
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
        // A row that says something else beside does not rest on the statement.
        let agrees = TransactionField.fillable.allSatisfy {
            period.agrees(with: stated, in: $0)
        }
        self.fields = fields + (period.signedDate == nil && agrees ? [.signedDate] : [])
    }

    /// The column without which a value means something else: a price in another currency is
    /// another price.
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
        var changes: [String: FieldChange] = [:]
        for field in fields {
            changes[field.rawValue] = FieldChange(
                before: period.storedValue(of: field), after: stated.value(of: field))
        }
        let named = fields.filter { $0 != .signedDate }.map(\.rawValue)
        return PlannedCorrection(
            target: .updatePeriod(period.key, of: subscription), changes: changes, kinds: [],
            evidence: transaction.evidence.digest, evidenceRenewal: nil,
            appleSignedDate: transaction.signedDate,
            reason: "Fills in what was not known yet of a period: "
                + named.joined(separator: ", ") + ".",
            rules: [ColumnFill.applied])
    }
}

extension LocalTransaction {
    /// Whether a column is empty or says what Apple's transaction says.
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
    /// Price and currency are written as with a period that is inserted: only a difference in them
    /// is left to report.
    func writesInPeriods(_ field: TransactionField) -> Bool {
        [.price, .currency].contains(field) || !reportOnlyFields.contains(field.rawValue)
    }
}
