import ReportAudit
import SubscriptionStore

extension SQLiteStore {
    /// Reads the ledger for the audit, which knows nothing of this store.
    var ledgerReading: LedgerReading {
        { body in
            try self.forEachLedgerRow { row in
                try body(
                    row.mapValues { cell -> LedgerCell in
                        switch cell {
                        case .null: .null
                        case .integer(let number): .integer(number)
                        case .text(let text): .text(text)
                        case .other: .other
                        }
                    })
            }
        }
    }
}
