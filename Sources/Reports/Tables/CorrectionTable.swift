import Subscriptions

/// One column that a correction changed: a line of `corrections.csv`.
struct ChangedField {
    let entry: LedgerEntry
    let field: String
    let change: FieldChange
}

extension LedgerEntry {
    /// The changed columns by name.
    var changedFields: [ChangedField] {
        changes.named.map { ChangedField(entry: self, field: $0.column, change: $0.change) }
    }
}

extension Table where Record == ChangedField {
    /// The members of a ledger entry with `field`, `before` and `after` of one column.
    static let changedFields = Table([
        ("ledger_entry", { .integer($0.entry.number) }),
        ("ledger_previous", { .own($0.entry.previousHash) }),
        ("ledger_hash", { .own($0.entry.hash) }),
        ("run_id", { .own($0.entry.runID) }),
        ("kinds", { .own($0.entry.kinds.map(\.rawValue).joined(separator: " ")) }),
        ("table", { .own($0.entry.table) }),
        ("app", { .text($0.entry.subscription.bundleID) }),
        ("environment", { .text($0.entry.subscription.environment) }),
        ("original_transaction_id", { .text($0.entry.subscription.originalTransactionID) }),
        ("transaction_id", { Cell($0.entry.transactionID) }),
        ("field", { .text($0.field) }),
        ("before", { Cell($0.change.before) }),
        ("after", { Cell($0.change.after) }),
        ("evidence", { Cell($0.entry.evidence) }),
        ("evidence_renewal", { Cell($0.entry.evidenceRenewal) }),
        ("apple_signed_date", { Cell($0.entry.appleSignedDate) }),
        ("written_at", { Cell($0.entry.writtenAt) }),
        ("actor", { .text($0.entry.actor) }),
        ("reason", { .text($0.entry.reason) }),
        ("undo_of", { Cell($0.entry.undoOf) }),
        ("action", { $0.entry.action.map { .own($0.rawValue) } ?? .null }),
        ("host", { Cell($0.entry.host) }),
        ("plan", { $0.entry.plan.map(Cell.own) ?? .null }),
        ("row_version", { Cell($0.entry.rowVersion) }),
        ("access_continues_by", { Cell($0.entry.accessContinuesBy) }),
    ])
}
