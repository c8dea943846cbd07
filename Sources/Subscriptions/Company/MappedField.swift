/// The tables of trueup's that may be kept in tables of the company's own.
package enum MappedTable: String, Hashable, Sendable, CaseIterable {
    case subscriptions
    /// One-time purchases: each row is one transaction.
    case purchases

    /// The columns that a table of the company's may have, in our order.
    package var fields: [MappedField] { columns.all }

    /// The column with a name of trueup's; `nil` for none.
    package func field(named name: String) -> MappedField? { columns.byName[name] }

    /// The part of the key that names the row within its app.
    package var identifier: MappedField {
        switch self {
        case .subscriptions: .subscription(.originalTransactionID)
        case .purchases: .purchase(.transactionID)
        }
    }

    /// The columns that make up the key, in its order.
    package var key: [MappedField] { columns.key }

    /// The columns of a table, made once: they are asked for with every row.
    private struct Columns {
        let all: [MappedField]
        let key: [MappedField]
        let byName: [String: MappedField]

        init(_ all: [MappedField], of table: MappedTable) {
            self.all = all
            key = [table.bundleID, table.environment, table.identifier]
            byName = all.reduce(into: [:]) { $0[$1.name] = $1 }
        }
    }

    private static let ofSubscriptions = Columns(
        SubscriptionField.mappable.map(MappedField.subscription), of: .subscriptions)
    private static let ofPurchases = Columns(
        TransactionField.ofPurchases.map(MappedField.purchase), of: .purchases)

    private var columns: Columns {
        self == .subscriptions ? Self.ofSubscriptions : Self.ofPurchases
    }

    package var bundleID: MappedField {
        self == .subscriptions ? .subscription(.bundleID) : .purchase(.bundleID)
    }

    package var environment: MappedField {
        self == .subscriptions ? .subscription(.environment) : .purchase(.environment)
    }

    /// The setting that states how the company's table is read.
    package var setting: String { "store." + rawValue }

    /// The name of a row of it, for messages.
    package var nameOfRow: String { self == .subscriptions ? "subscription" : "purchase" }
}

/// A column of one of the tables that may be kept in a table of the company's own.
package enum MappedField: Hashable, Sendable {
    case subscription(SubscriptionField)
    case purchase(TransactionField)

    /// The name of trueup's column.
    package var name: String {
        switch self {
        case .subscription(let field): field.rawValue
        case .purchase(let field): field.rawValue
        }
    }

    package var form: FieldForm {
        switch self {
        case .subscription(let field): field.form
        case .purchase(let field): field.form
        }
    }

    /// Whether Apple states the column; the others are the company's own.
    package var isStated: Bool {
        switch self {
        case .subscription(let field): field.isStated
        case .purchase(let field): field.isStated
        }
    }

    /// Whether runs compare the column with Apple's.
    ///
    /// Of a purchase only its refund is; `signed_date` is trueup's own, next to the rows wherever they are.
    package var isCompared: Bool {
        switch self {
        case .subscription(let field): field.isStated && field != .signedDate
        case .purchase(let field): TransactionField.ofRefund.contains(field)
        }
    }

    /// `nil` for a column of purchases.
    package var ofSubscription: SubscriptionField? {
        if case .subscription(let field) = self { field } else { nil }
    }

    /// `nil` for a column of subscriptions.
    package var ofPurchase: TransactionField? {
        if case .purchase(let field) = self { field } else { nil }
    }

    /// Whether the column is the company's id of the customer, which only the company knows.
    package var isCustomer: Bool {
        self == .subscription(.customerID) || self == .purchase(.customerID)
    }

    /// Whether the column is the date of signing, which stays next to the rows wherever they are.
    package var isSignedDate: Bool {
        self == .subscription(.signedDate) || self == .purchase(.signedDate)
    }
}

extension Dictionary where Key == MappedField {
    /// Takes values of columns of subscriptions.
    package init(_ values: [SubscriptionField: Value]) {
        self = values.reduce(into: [:]) { $0[.subscription($1.key)] = $1.value }
    }

    /// Takes values of columns of purchases.
    package init(_ values: [TransactionField: Value]) {
        self = values.reduce(into: [:]) { $0[.purchase($1.key)] = $1.value }
    }
}

/// Columns of subscriptions that the statements and programs name.
extension MappedField {
    package static let status = MappedField.subscription(.status)
    package static let expiresDate = MappedField.subscription(.expiresDate)
    package static let latestTransactionID = MappedField.subscription(.latestTransactionID)
}

/// Corrections, as far as they change tables that may be the company's.
extension ChangeSet {
    /// The changes of a subscription or a purchase; none for other tables.
    package var mapped: [MappedField: FieldChange] {
        switch self {
        case .subscription(let changes): Dictionary(changes)
        case .purchase(let changes): Dictionary(changes)
        case .period, .ledger: [:]
        }
    }

    /// Which table of the company's they may change; `nil` for periods and the ledger.
    package var mappedTable: MappedTable? {
        switch self {
        case .subscription: .subscriptions
        case .purchase: .purchases
        case .period, .ledger: nil
        }
    }

    /// The changes of some columns alone.
    func filtered(_ isKept: (MappedField) -> Bool) -> ChangeSet {
        switch self {
        case .subscription(let changes):
            .subscription(changes.filter { isKept(.subscription($0.key)) })
        case .purchase(let changes): .purchase(changes.filter { isKept(.purchase($0.key)) })
        case .period, .ledger: self
        }
    }
}
