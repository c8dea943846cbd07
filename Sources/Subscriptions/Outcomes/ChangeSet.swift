/// The columns of one row that a correction changes, each with its value before and after.
///
/// A column that the table does not have cannot be named here, so it never becomes SQL either.
package enum ChangeSet: Hashable, Sendable {
    case subscription([SubscriptionField: FieldChange])
    case period([TransactionField: FieldChange])
    /// A declared break of the ledger, which changes no row.
    case ledger([LedgerField: FieldChange])

    /// The names of the changed tables, as the ledger and the reports state them.
    package enum Table: String, Hashable, Sendable {
        case subscriptions, transactions, ledger
    }

    package var table: Table {
        switch self {
        case .subscription: .subscriptions
        case .period: .transactions
        case .ledger: .ledger
        }
    }

    /// The changes of a subscription's row; none for other tables.
    package var ofSubscription: [SubscriptionField: FieldChange] {
        if case .subscription(let changes) = self { changes } else { [:] }
    }

    /// The changes of a period; none for other tables.
    package var ofPeriod: [TransactionField: FieldChange] {
        if case .period(let changes) = self { changes } else { [:] }
    }

    /// The changes in the order of the columns' names.
    package var named: [(column: String, change: FieldChange)] {
        let changes =
            switch self {
            case .subscription(let changes): changes.map { ($0.rawValue, $1) }
            case .period(let changes): changes.map { ($0.rawValue, $1) }
            case .ledger(let changes): changes.map { ($0.rawValue, $1) }
            }
        return changes.sorted { $0.0.precedesByBytes($1.0) }
            .map { (column: $0.0, change: $0.1) }
    }

    /// What stood in each column, by name.
    package var before: [String: FieldValue] { values(\.before) }

    /// What stands in each column afterwards, by name.
    package var after: [String: FieldValue] { values(\.after) }

    /// The changes that revert these.
    package var inverse: ChangeSet {
        switch self {
        case .subscription(let changes): .subscription(changes.mapValues(\.inverse))
        case .period(let changes): .period(changes.mapValues(\.inverse))
        case .ledger(let changes): .ledger(changes.mapValues(\.inverse))
        }
    }

    private func values(_ side: (FieldChange) -> FieldValue) -> [String: FieldValue] {
        switch self {
        case .subscription(let changes): Self.values(side, of: changes)
        case .period(let changes): Self.values(side, of: changes)
        case .ledger(let changes): Self.values(side, of: changes)
        }
    }

    private static func values<Column: NamedColumn>(
        _ side: (FieldChange) -> FieldValue, of changes: [Column: FieldChange]
    ) -> [String: FieldValue] {
        var values: [String: FieldValue] = [:]
        values.reserveCapacity(changes.count)
        for (column, change) in changes { values[column.rawValue] = side(change) }
        return values
    }
}

/// The value of one column before and after a correction.
package struct FieldChange: Hashable, Sendable {
    package var before: FieldValue
    package var after: FieldValue

    package init(before: FieldValue, after: FieldValue) {
        self.before = before
        self.after = after
    }

    /// The change that reverts this one.
    package var inverse: FieldChange { FieldChange(before: after, after: before) }
}

/// What an entry that declares a break of the ledger states, in place of columns.
package enum LedgerField: String, NamedColumn {
    case entry = "ledger_entry"
    case head = "ledger_head"
}
