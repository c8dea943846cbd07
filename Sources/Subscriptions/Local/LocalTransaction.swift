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
    /// Stored values that do not have their column's type, as printable text.
    package var unreadable: [TransactionField: String] = [:]
    /// Columns that hold empty text instead of null.
    package var emptyTexts: Set<TransactionField> = []

    package init(key: TransactionKey, originalTransactionID: String) {
        self.key = key
        self.originalTransactionID = originalTransactionID
    }

    /// A column's exact stored value, empty text included, as the value before a change.
    package func storedValue(of field: TransactionField) -> FieldValue {
        emptyTexts.contains(field) ? .text("") : value(of: field)
    }

    /// The same row with these columns cleared; key columns stay.
    package func emptied(of fields: Set<TransactionField>) -> LocalTransaction {
        var copy = self
        for field in fields { field.definition.place.set(.null, in: &copy) }
        return copy
    }

    /// The value of a column; for an unreadable one, its stored value as text.
    package func value(of field: TransactionField) -> FieldValue {
        if let shown = unreadable[field] { return .text(shown) }
        return field.definition.place.value(in: self)
    }
}
