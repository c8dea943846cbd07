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

/// The company's tables of transactions.
///
/// Both have the same kind of row, each with columns of its own.
package enum TransactionTable: String, Hashable, Sendable, CaseIterable {
    /// The periods of subscriptions.
    case periods = "transactions"
    /// One-time purchases: consumables, non-consumables and non-renewing subscriptions.
    case purchases

    /// The columns of the table, in the order of import and export.
    package var fields: [TransactionField] {
        switch self {
        case .periods: TransactionField.ofPeriods
        case .purchases: TransactionField.ofPurchases
        }
    }
}

/// A row of one of the company's tables of transactions: a period of a subscription, or a one-time
/// purchase.
package struct LocalTransaction: Hashable, Sendable {
    package var key: TransactionKey
    package var originalTransactionID: String
    /// The company's own id of the customer; of a purchase.
    package var customerID: String?
    package var appAccountToken: String?
    package var productID: String?
    package var type: String?
    package var quantity: Int64?
    package var purchaseDate: Timestamp?
    package var expiresDate: Timestamp?
    package var revocationDate: Timestamp?
    package var revocationReason: Int?
    /// How much of the price was refunded: thousandths of a percent.
    package var revocationPercentage: Int64?
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

    /// Returns the row with these columns cleared; key columns stay.
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

/// The columns of both tables of transactions, in the order of import and export; see
/// `SubscriptionField`.
package enum TransactionField: String, RowColumn {
    case transactionID = "transaction_id"
    case originalTransactionID = "original_transaction_id"
    case environment
    case bundleID = "bundle_id"
    case customerID = "customer_id"
    case appAccountToken = "app_account_token"
    case productID = "product_id"
    case type
    case quantity
    case purchaseDate = "purchase_date"
    case expiresDate = "expires_date"
    case revocationDate = "revocation_date"
    case revocationReason = "revocation_reason"
    case revocationPercentage = "revocation_percentage"
    case webOrderLineItemID = "web_order_line_item_id"
    case inAppOwnershipType = "in_app_ownership_type"
    /// 0 or 1.
    case isUpgraded = "is_upgraded"
    case offerType = "offer_type"
    case price
    case currency
    case signedDate = "signed_date"

    static let byName = columnsByName()

    /// The columns of the table `transactions`.
    package static let ofPeriods = allCases.filter {
        ![.customerID, .appAccountToken, .quantity, .revocationPercentage].contains($0)
    }

    /// The columns of the table `purchases`.
    package static let ofPurchases = allCases.filter {
        ![.expiresDate, .webOrderLineItemID, .inAppOwnershipType, .isUpgraded, .offerType]
            .contains($0)
    }

    /// The columns of a refund, with the date first: it says whether there is one.
    package static let ofRefund: [TransactionField] = [
        .revocationDate, .revocationReason, .revocationPercentage,
    ]

    /// Columns that may be filled in later: all but the key columns and the date of signing, which
    /// says nothing about the period.
    package static let fillable = ofPeriods.filter {
        ![.transactionID, .originalTransactionID, .environment, .bundleID, .signedDate].contains($0)
    }

    /// Columns that Apple states for every period; the others (refund, offer) are empty for most.
    package static let statedOfEveryPeriod: [TransactionField] = [
        .productID, .type, .purchaseDate, .expiresDate, .webOrderLineItemID, .inAppOwnershipType,
        .isUpgraded, .price, .currency,
    ]

    package var definition: ColumnDefinition<LocalTransaction, SignedTransaction> {
        switch self {
        case .transactionID: .init(.key(\.key.transactionID), of: .id)
        case .originalTransactionID: .init(.key(\.originalTransactionID), of: .id)
        case .environment: .init(.key(\.key.environment))
        case .bundleID: .init(.key(\.key.bundleID))
        case .customerID: .init(.text(\.customerID, { $0.customerID = $1 }), of: .name)
        case .appAccountToken:
            .init(
                .text(\.appAccountToken, { $0.appAccountToken = $1 }), { .init($0.appAccountToken) }
            )
        case .quantity:
            .init(
                .integer(\.quantity, { $0.quantity = $1 }), { .init($0.quantity) },
                of: Self.wholeNumber)
        case .productID:
            .init(.text(\.productID, { $0.productID = $1 }), { .init($0.productID) })
        case .type: .init(.text(\.type, { $0.type = $1 }), { .init($0.type) })
        case .purchaseDate:
            .init(
                .time(\.purchaseDate, { $0.purchaseDate = $1 }), { .init($0.purchaseDate) })
        case .expiresDate:
            .init(
                .time(\.expiresDate, { $0.expiresDate = $1 }), { .init($0.expiresDate) })
        case .revocationDate:
            .init(
                .time(\.revocationDate, { $0.revocationDate = $1 }), { .init($0.revocationDate) })
        case .revocationReason:
            .init(
                .number(\.revocationReason, { $0.revocationReason = $1 }),
                { .init($0.revocationReason) },
                of: Self.smallNumber)
        case .revocationPercentage:
            .init(
                .integer(\.revocationPercentage, { $0.revocationPercentage = $1 }),
                { .init($0.revocationPercentage) }, of: Self.wholeNumber)
        case .webOrderLineItemID:
            .init(
                .text(\.webOrderLineItemID, { $0.webOrderLineItemID = $1 }),
                { .init($0.webOrderLineItemID) }, of: .id)
        case .inAppOwnershipType:
            .init(
                .text(\.inAppOwnershipType, { $0.inAppOwnershipType = $1 }),
                { .init($0.inAppOwnershipType) })
        case .isUpgraded:
            .init(
                .flag(\.isUpgraded, { $0.isUpgraded = $1 }), { .init($0.isUpgraded) },
                of: .flag)
        case .offerType:
            .init(
                .number(\.offerType, { $0.offerType = $1 }), { .init($0.offerType) },
                of: Self.smallNumber)
        case .price:
            .init(
                .integer(\.price, { $0.price = $1 }), { .init($0.price) },
                of: .integer(
                    Int64.min...Int64.max, "must be whole milliunits: 10.99 is written 10990"),
                isGovernable: true)
        case .currency:
            .init(
                .text(\.currency, { $0.currency = $1 }), { .init($0.currency) },
                isGovernable: true)
        case .signedDate:
            .init(.time(\.signedDate, { $0.signedDate = $1 }), { .init($0.signedDate) })
        }
    }

    /// Apple may add reasons and offers: any small number is kept.
    private static let smallNumber = ColumnContent.integer(
        0...Int64(Int32.max), "must be a whole number")

    private static let wholeNumber = ColumnContent.integer(
        0...Int64.max, "must be a whole number")
}

extension SignedTransaction {
    /// Apple's value of a period's column; null where Apple states none.
    package func value(of field: TransactionField) -> FieldValue {
        field.definition.stated?(self) ?? .null
    }

    /// The row with the values of this transaction.
    package func asLocal(
        key: TransactionKey, in table: TransactionTable = .periods
    ) -> LocalTransaction {
        var local = LocalTransaction(key: key, originalTransactionID: originalTransactionID)
        for field in table.fields {
            field.definition.place.set(value(of: field), in: &local)
        }
        return local
    }
}
