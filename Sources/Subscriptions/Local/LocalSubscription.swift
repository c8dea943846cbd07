/// A row of the company's table: the company's state of one subscription.
///
/// A row without `status` is *not known yet*. In a row with a status, an absent `revocationDate` or
/// `gracePeriodExpiresDate` means that there is none; any other absent field is not known yet
/// (docs/columns.md). Empty text counts as absent. A value that does not have its column's type is
/// absent as well, and is kept in `unreadable`; then nothing may be written to the row.
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
    /// Until when the customer pays for the same through another source than Apple; the company's.
    package var paidElsewhereUntil: Timestamp?
    /// The seats that were bought for the current period, revoked ones included.
    package var quantity: Int64?
    /// The seats of the next period.
    package var renewalQuantity: Int64?
    /// The seats of the current period that were revoked.
    package var revokedSeats: Int64?
    /// Raised by the database on every update, whichever program writes; 0 before the row is
    /// stored.
    package var rowVersion: Int64 = 0
    /// Stored values that do not have their column's type, as printable text.
    package var unreadable: [SubscriptionField: String] = [:]
    /// Columns that hold empty text instead of null.
    package var emptyTexts: Set<SubscriptionField> = []

    package init(key: SubscriptionKey) { self.key = key }
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
        if !unreadable.isEmpty, let shown = unreadable[field] { return .text(shown) }
        return field.definition.place.value(in: self)
    }
}

/// The columns of a local subscription row, in the order of import and export.
///
/// Reading, writing, comparing and changing rows all use this list. A new column is a property above
/// and a case here, an optional one. The auditor and the simulated App Store have lists of their own,
/// so that an error in this one shows. Files of rows have all of these columns, the table
/// `subscriptions` those of `stored` and the optional ones that the company has.
package enum SubscriptionField: String, RowColumn {
    case originalTransactionID = "original_transaction_id"
    case environment
    case bundleID = "bundle_id"
    case customerID = "customer_id"
    case appAccountToken = "app_account_token"
    case productID = "product_id"
    case status
    case expiresDate = "expires_date"
    case gracePeriodExpiresDate = "grace_period_expires_date"
    case autoRenewStatus = "auto_renew_status"
    case autoRenewProductID = "auto_renew_product_id"
    case revocationDate = "revocation_date"
    case inAppOwnershipType = "in_app_ownership_type"
    case latestTransactionID = "latest_transaction_id"
    case webOrderLineItemID = "web_order_line_item_id"
    case signedDate = "signed_date"
    case paidElsewhereUntil = "paid_elsewhere_until"
    case quantity
    case renewalQuantity = "renewal_quantity"
    case revokedSeats = "revoked_seats"

    /// The columns that Apple states, in their order.
    package static let stated = allCases.filter(\.isStated)

    static let byName = columnsByName()

    /// The statuses of Apple's in which the stored value is cleared where Apple's statement has
    /// none; empty where that says nothing about the column (docs/columns.md).
    ///
    /// Apple is known to omit the end of a grace period that is running, so the stored one stays. A
    /// revocation without a signed date is a contradiction.
    package var clearedIn: Set<SubscriptionStatus> {
        switch self {
        case .revocationDate: [.active, .expired, .billingRetry, .billingGracePeriod]
        case .gracePeriodExpiresDate: [.active, .expired, .billingRetry, .revoked]
        default: []
        }
    }

    /// Whether an empty column of a row with a status says that there is none, as opposed to not
    /// known yet.
    package var emptyMeansNone: Bool { !clearedIn.isEmpty }

    /// The columns that every table `subscriptions` of trueup's has, in their order.
    ///
    /// The company's services know that table's columns and rebuild it with them. So what came later is
    /// in a table of trueup's beside it, or is an optional column.
    package static let stored = mappable.filter { !optional.contains($0) }

    /// The columns that a table of the company's own may have, in their order.
    package static let mappable = allCases.filter { $0 != .paidElsewhereUntil }

    /// The columns that a table has only where the company wants them.
    ///
    /// The table `subscriptions` gets those of a file when it is imported.
    package static let optional = Set(allCases.filter(\.definition.isOptional))

    package var definition: ColumnDefinition<LocalSubscription, StatedSubscription> {
        switch self {
        case .originalTransactionID: .init(.key(\.key.originalTransactionID), of: .id)
        case .environment: .init(.key(\.key.environment))
        case .bundleID: .init(.key(\.key.bundleID))
        case .customerID: .init(.text(\.customerID, { $0.customerID = $1 }), of: .name)
        case .appAccountToken:
            .init(
                .text(\.appAccountToken, { $0.appAccountToken = $1 }),
                { .init($0.transaction.appAccountToken) })
        case .productID:
            .init(
                .text(\.productID, { $0.productID = $1 }), { .init($0.transaction.productID) },
                isGovernable: true)
        case .status:
            // Unsigned; its evidence is the transaction next to it.
            .init(
                .number(\.status, { $0.status = $1 }), { .init($0.status.rawValue) },
                of: .integer(
                    1...5,
                    "is not a status; known are 1 active, 2 expired, 3 billing retry, 4 grace, "
                        + "5 revoked"),
                isGovernable: true)
        case .expiresDate:
            .init(
                .time(\.expiresDate, { $0.expiresDate = $1 }),
                { .init($0.transaction.expiresDate) },
                isGovernable: true)
        case .gracePeriodExpiresDate:
            .init(
                .time(\.gracePeriodExpiresDate, { $0.gracePeriodExpiresDate = $1 }),
                { .init($0.renewal.gracePeriodExpiresDate) },
                by: \.renewal.evidence, isGovernable: true)
        case .autoRenewStatus:
            .init(
                .number(\.autoRenewStatus, { $0.autoRenewStatus = $1 }),
                { .init($0.renewal.knownAutoRenewStatus) },
                by: \.renewal.evidence, of: .integer(0...1, "must be 0 (off) or 1 (on)"),
                isGovernable: true)
        case .autoRenewProductID:
            .init(
                .text(\.autoRenewProductID, { $0.autoRenewProductID = $1 }),
                { .init($0.renewal.autoRenewProductID) },
                by: \.renewal.evidence, isGovernable: true)
        case .revocationDate:
            .init(
                .time(\.revocationDate, { $0.revocationDate = $1 }),
                { .init($0.transaction.revocationDate) }, isGovernable: true)
        case .inAppOwnershipType:
            .init(
                .text(\.inAppOwnershipType, { $0.inAppOwnershipType = $1 }),
                { .init($0.transaction.knownOwnershipType) }, isGovernable: true)
        case .latestTransactionID:
            .init(
                .text(\.latestTransactionID, { $0.latestTransactionID = $1 }),
                { .init($0.transaction.transactionID) }, of: .id, isGovernable: true)
        case .webOrderLineItemID:
            .init(
                .text(\.webOrderLineItemID, { $0.webOrderLineItemID = $1 }),
                { .init($0.transaction.webOrderLineItemID) }, of: .id, isGovernable: true)
        case .signedDate:
            .init(
                .time(\.signedDate, { $0.signedDate = $1 }), { .init($0.signedDate) })
        case .paidElsewhereUntil:
            .init(.time(\.paidElsewhereUntil, { $0.paidElsewhereUntil = $1 }))
        case .quantity:
            .init(
                .integer(\.quantity, { $0.quantity = $1 }), { .init($0.seats?.bought) },
                of: Self.seatCount, isGovernable: true,
                isOptional: true)
        case .renewalQuantity:
            .init(
                .integer(\.renewalQuantity, { $0.renewalQuantity = $1 }),
                { .init($0.renewalSeats) }, by: \.renewal.evidence, of: Self.seatCount,
                isGovernable: true, isOptional: true)
        case .revokedSeats:
            .init(
                .integer(\.revokedSeats, { $0.revokedSeats = $1 }), { .init($0.seats?.revoked) },
                of: Self.seatCount, isGovernable: true,
                isOptional: true)
        }
    }

    private static let seatCount = ColumnContent.integer(
        0...Int64.max, "must be a number of seats")
}

extension StatedSubscription {
    /// Returns the value that Apple states for a column; null where it states nothing that may be
    /// written.
    package func value(of field: SubscriptionField) -> FieldValue {
        field.definition.stated?(self) ?? .null
    }

    /// The payload that a column comes from.
    package func payload(of field: SubscriptionField) -> SignedPayload {
        field.definition.payload?(self) ?? transaction.evidence
    }
}
