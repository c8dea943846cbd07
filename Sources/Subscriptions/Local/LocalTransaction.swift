/// The key of a stored period.
package struct TransactionKey: Hashable, Comparable, Sendable {
    package let bundleID: String
    package let environment: String
    package let transactionID: String

    package init(bundleID: String, environment: String, transactionID: String) {
        self.bundleID = bundleID
        self.environment = environment
        self.transactionID = transactionID
    }

    package static func < (left: TransactionKey, right: TransactionKey) -> Bool {
        (left.bundleID, left.environment, left.transactionID)
            < (right.bundleID, right.environment, right.transactionID)
    }
}

/// A row of the company's period table: one transaction of a subscription.
package struct LocalTransaction: Hashable, Sendable {
    package var key: TransactionKey
    package var originalTransactionID: String
    package var productID: String?
    package var type: String?
    package var purchaseDate: Timestamp?
    package var expiresDate: Timestamp?
    package var revocationDate: Timestamp?
    package var revocationReason: Int?
    package var webOrderLineItemID: String?
    package var inAppOwnershipType: String?
    package var isUpgraded: Bool?
    package var offerType: Int?
    /// Milliunits of `currency`.
    package var price: Int64?
    package var currency: String?
    package var signedDate: Timestamp?
    /// What stands in columns and is not of their form, made safe to show; see `LocalSubscription`.
    package var unreadable: [TransactionField: String] = [:]
    /// Columns that hold empty text rather than nothing.
    package var emptyTexts: Set<TransactionField> = []

    package init(key: TransactionKey, originalTransactionID: String) {
        self.key = key
        self.originalTransactionID = originalTransactionID
    }

    /// What stands in a column, to be written down as what was there before.
    package func storedValue(of field: TransactionField) -> FieldValue {
        emptyTexts.contains(field) ? .text("") : value(of: field)
    }

    /// The same with nothing in these columns; those that name the row stay.
    package func emptied(of fields: Set<TransactionField>) -> LocalTransaction {
        var copy = self
        for field in fields { field.definition.place.set(.null, in: &copy) }
        return copy
    }

    /// The value of a column; of one that cannot be read, what stands there.
    package func value(of field: TransactionField) -> FieldValue {
        if let shown = unreadable[field] { return .text(shown) }
        return field.definition.place.value(in: self)
    }
}
