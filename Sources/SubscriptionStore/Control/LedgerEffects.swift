import GRDB
import Subscriptions

/// What entries of the ledger changed of the control totals, by app.
struct LedgerEffects {
    let db: Database

    /// - Parameters:
    ///   - first: The newest entry that is already counted.
    ///   - last: The last one that counts.
    /// - Returns: By bundle id and environment.
    /// - Throws: What reading the database throws.
    func sums(after first: Int64, through last: Int64) throws -> [[String]: ControlSums] {
        var effects: [[String]: ControlSums] = [:]
        guard first < last else { return effects }
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT \(LedgerEntry.columns) FROM trueup_ledger AS l
                WHERE l.entry > ? AND l.entry <= ? ORDER BY l.entry
                """, arguments: [first, last])
        while let row = try rows.next() {
            let entry = try LedgerEntry(row)
            let app = [entry.subscription.bundleID, entry.subscription.environment]
            switch entry.changes {
            case .subscription(let changes):
                addStatus(changes[.status], entry.rowAction, to: &effects[app, default: .init()])
            case .period(let changes):
                try addPrice(changes, of: entry, to: &effects[app, default: .init()])
            case .ledger: continue
            }
        }
        return effects
    }

    private func addStatus(
        _ change: FieldChange?, _ action: RowAction, to sums: inout ControlSums
    ) {
        let before = ControlSums.group(ofStatus: change?.before.integer)
        let after = ControlSums.group(ofStatus: change?.after.integer)
        // A row that is inserted without a status stands there all the same.
        guard change != nil || action != .update else { return }
        if action != .insert { sums.add(rows: -1, ofStatus: before) }
        if action != .delete { sums.add(rows: 1, ofStatus: after) }
    }

    private func addPrice(
        _ changes: [TransactionField: FieldChange], of entry: LedgerEntry,
        to sums: inout ControlSums
    ) throws {
        let (price, currency) = (changes[.price], changes[.currency])
        var standing: Row?
        if entry.rowAction == .update {
            guard price != nil || currency != nil else { return }
            // What a correction leaves as it is stands in the row.
            standing = try Row.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT price, currency FROM transactions
                        WHERE bundle_id = ? AND environment = ? AND transaction_id = ?
                        """),
                arguments: [
                    entry.subscription.bundleID, entry.subscription.environment,
                    entry.transactionID,
                ])
        }
        func add(_ periods: Int, _ side: KeyPath<FieldChange, FieldValue>) {
            let amount = price.map { $0[keyPath: side].integer } ?? standing?.integer(at: 0)
            let code = currency.map { $0[keyPath: side].text } ?? standing?.text(at: 1)
            let (value, _) = (amount ?? 0).multipliedReportingOverflow(by: Int64(periods))
            sums.add(
                periods: periods, amount: value, in: ControlSums.group(ofCurrency: code))
        }
        if entry.rowAction != .insert { add(-1, \.before) }
        if entry.rowAction != .delete { add(1, \.after) }
    }
}

extension FieldValue {
    fileprivate var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
    fileprivate var text: String? { if case .text(let text) = self { text } else { nil } }
}
