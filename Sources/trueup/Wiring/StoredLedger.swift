import ReportAudit
import SubscriptionStore

extension SQLiteStore {
    /// Reads the chains for the audit, which knows nothing of this store.
    var databaseReading: DatabaseReading {
        DatabaseReading(
            ledger: { body in
                try self.forEachLedgerRow { try body($0.mapValues(StoredColumn.init)) }
            },
            decisions: { body in
                try self.forEachDecisionRow { try body($0.mapValues(StoredColumn.init)) }
            }, highestDecisionInUse: { try self.highestDecisionInUse() })
    }
}

extension StoredColumn {
    fileprivate init(_ cell: StoredCell) {
        self =
            switch cell {
            case .null: .null
            case .integer(let number): .integer(number)
            case .text(let text): .text(text)
            case .other: .other
            }
    }
}
