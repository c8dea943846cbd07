import Reconciliation
import Subscriptions

/// One-time purchases of the sample customer, as Apple signs them and as the company stores them.
enum Purchased {
    static func signed(
        _ id: String, _ change: (inout SignedTransaction) -> Void = { _ in }
    ) -> SignedTransaction {
        var transaction = SignedTransaction(
            evidence: Sample.payload("purchase \(id)"), transactionID: id,
            originalTransactionID: id, signedDate: Sample.now(milliseconds: -100))
        transaction.bundleID = Sample.app.bundleID
        transaction.environment = Sample.app.environment.rawValue
        transaction.productID = "coins"
        transaction.type = "Consumable"
        transaction.quantity = 3
        transaction.purchaseDate = Sample.now(days: -30)
        transaction.appAccountToken = Sample.token
        transaction.price = 990
        transaction.currency = "EUR"
        change(&transaction)
        return transaction
    }

    static func refunded(_ id: String) -> SignedTransaction {
        signed(id) {
            $0.revocationDate = Sample.now(days: -2)
            $0.revocationReason = 1
            $0.revocationType = "REFUND_FULL"
            $0.revocationPercentage = 100_000
        }
    }

    /// The row that says exactly what Apple states, on a statement of the day before.
    static func stored(
        _ signed: SignedTransaction, _ change: (inout LocalTransaction) -> Void = { _ in }
    ) -> LocalTransaction {
        var row = LocalTransaction(
            key: TransactionKey(
                bundleID: Sample.app.bundleID, environment: Sample.app.environment.rawValue,
                transactionID: signed.transactionID),
            originalTransactionID: signed.originalTransactionID)
        row.customerID = "customer 1"
        row.appAccountToken = signed.appAccountToken
        row.productID = signed.productID
        row.type = signed.type
        row.quantity = signed.quantity
        row.purchaseDate = signed.purchaseDate
        row.revocationDate = signed.revocationDate
        row.revocationReason = signed.revocationReason
        row.revocationPercentage = signed.revocationPercentage
        row.price = signed.price
        row.currency = signed.currency
        row.signedDate = Sample.now(days: -1)
        change(&row)
        return row
    }

    /// The sample customer, whose history shows these purchases beside the subscription.
    static func item(
        _ signed: [SignedTransaction], stored: [LocalTransaction]?,
        row: LocalSubscription = Sample.row()
    ) -> Case {
        Sample.item(row, [Sample.stated()]) {
            $0.history = .complete(signed + [Sample.stated().transaction])
            $0.purchases = stored.map { rows in
                Dictionary(uniqueKeysWithValues: rows.map { ($0.key.transactionID, $0) })
            }
        }
    }

    /// The outcomes but that of the subscription.
    static func outcomes(of item: Case, _ policy: Policy = Sample.policy()) -> [RowOutcome] {
        Reconciliation.outcomes(of: item, policy: policy)
            .filter { $0.key.originalTransactionID != Sample.id }
    }
}
