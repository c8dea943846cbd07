/// A row of the company's table: the company's state of one subscription.
///
/// A row without `status` is *not known yet*. In a row with a status, an absent `revocationDate` or
/// `gracePeriodExpiresDate` means that there is none; any other absent field is not known yet
/// (docs/columns.md). Empty text counts as absent. A value that does not have its column's type is
/// absent, too, and is kept in `unreadable`; then nothing may be written to the row.
package struct LocalSubscription: Hashable, Sendable {
    package var key: SubscriptionKey
    package var customerID: String?
    package var appAccountToken: String?
    package var productID: String?
    package var status: Int?
    package var expiresDate: Timestamp?
    package var gracePeriodExpiresDate: Timestamp?
    package var autoRenewStatus: Int?
    package var autoRenewProductID: String?
    package var revocationDate: Timestamp?
    package var inAppOwnershipType: String?
    package var latestTransactionID: String?
    package var webOrderLineItemID: String?
    /// When Apple signed the statement that the row was written from.
    package var signedDate: Timestamp?
    /// Raised by the database on every update, whoever writes; 0 before the row is stored.
    package var rowVersion: Int64
    /// Stored values that do not have their column's type, as printable text.
    package var unreadable: [SubscriptionField: String] = [:]
    /// Columns that hold empty text instead of null.
    package var emptyTexts: Set<SubscriptionField> = []

    package init(key: SubscriptionKey) {
        self.key = key
        self.rowVersion = 0
    }
}

extension LocalSubscription {
    /// Whether the row gives access.
    package var isEntitling: Bool {
        status.map { SubscriptionStatus(rawValue: $0).isEntitling } ?? false
    }

    /// A column's exact stored value, empty text included, as the value before a change: a change
    /// must be possible to revert exactly.
    package func storedValue(of field: SubscriptionField) -> FieldValue {
        emptyTexts.contains(field) ? .text("") : value(of: field)
    }

    /// The value of a column; for an unreadable one, its stored value as text.
    package func value(of field: SubscriptionField) -> FieldValue {
        if let shown = unreadable[field] { return .text(shown) }
        return field.definition.place.value(in: self)
    }
}
