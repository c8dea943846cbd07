import Subscriptions

/// One column that a correction changed, or that a check would change: a line of `corrections.csv`.
struct ChangedField {
    let field: String
    let change: FieldChange
    let fate: CorrectionFate
    /// What was written; `nil` for what is only planned.
    let entry: LedgerEntry?
    fileprivate let runID: String
    fileprivate let kinds: [FindingKind]
    fileprivate let table: String
    fileprivate let subscription: SubscriptionKey
    fileprivate let transactionID: String?
    fileprivate let evidence: EvidenceDigest
    fileprivate let evidenceRenewal: EvidenceDigest?
    fileprivate let appleSignedDate: Timestamp
    fileprivate let reason: String
    fileprivate let undoOf: Int64?
    fileprivate let action: RowAction?
    fileprivate let accessContinuesBy: String?
    /// From which signed fields a status follows; `nil` for other columns.
    var derivation: String?
}

extension ReportedCorrection {
    /// The changed columns by name, a status with what it follows from.
    var changedFields: [ChangedField] {
        entry.changedFields.map { field in
            var field = field
            if field.field == SubscriptionField.status.rawValue {
                field.derivation = CorrectedStatus(self)?.sentence
            }
            return field
        }
    }
}

extension LedgerEntry {
    /// The changed columns by name.
    var changedFields: [ChangedField] {
        changes.named.map {
            ChangedField(
                field: $0.column, change: $0.change, fate: .applied, entry: self, runID: runID,
                kinds: kinds, table: table, subscription: subscription,
                transactionID: transactionID, evidence: evidence,
                evidenceRenewal: evidenceRenewal, appleSignedDate: appleSignedDate,
                reason: reason, undoOf: undoOf, action: action,
                accessContinuesBy: accessContinuesBy)
        }
    }
}

extension PlannedCorrection {
    /// The columns that would change, by name; no ledger entry tells of them.
    ///
    /// - Parameters:
    ///   - runID: The run that planned them.
    ///   - fate: What became of them.
    /// - Returns: A line each.
    func changedFields(ofRun runID: String, fate: CorrectionFate) -> [ChangedField] {
        changes.named.map {
            ChangedField(
                field: $0.column, change: $0.change, fate: fate, entry: nil, runID: runID,
                kinds: kinds, table: table, subscription: subscription,
                transactionID: transactionID, evidence: evidence,
                evidenceRenewal: evidenceRenewal, appleSignedDate: appleSignedDate,
                reason: reason, undoOf: undoOf, action: action,
                accessContinuesBy: continuedBy.isEmpty
                    ? nil : continuedBy.joined(separator: " "))
        }
    }
}

extension Table where Record == ChangedField {
    /// The members of a ledger entry with `field`, `before` and `after` of one column.
    static let changedFields = Table([
        ("ledger_entry", { $0.entry.map { .integer($0.number) } ?? .null }),
        ("ledger_previous", { $0.entry.map { .own($0.previousHash) } ?? .null }),
        ("ledger_hash", { $0.entry.map { .own($0.hash) } ?? .null }),
        ("run_id", { .own($0.runID) }),
        ("kinds", { .own($0.kinds.map(\.rawValue).joined(separator: " ")) }),
        ("table", { .own($0.table) }),
        ("app", { .text($0.subscription.bundleID) }),
        ("environment", { .text($0.subscription.environment) }),
        ("original_transaction_id", { .text($0.subscription.originalTransactionID) }),
        ("transaction_id", { Cell($0.transactionID) }),
        ("field", { .text($0.field) }),
        ("before", { Cell($0.change.before) }),
        ("after", { Cell($0.change.after) }),
        ("evidence", { Cell($0.evidence) }),
        ("evidence_renewal", { Cell($0.evidenceRenewal) }),
        ("apple_signed_date", { Cell($0.appleSignedDate) }),
        ("written_at", { $0.entry.map { Cell($0.writtenAt) } ?? .null }),
        ("actor", { $0.entry.map { .text($0.actor) } ?? .null }),
        ("reason", { .text($0.reason) }),
        ("undo_of", { Cell($0.undoOf) }),
        ("action", { $0.action.map { .own($0.rawValue) } ?? .null }),
        ("host", { Cell($0.entry?.host) }),
        ("plan", { ($0.entry?.plan).map(Cell.own) ?? .null }),
        ("row_version", { Cell($0.entry?.rowVersion) }),
        ("access_continues_by", { Cell($0.accessContinuesBy) }),
        ("fate", { .own($0.fate.rawValue) }),
        ("derivation", { Cell($0.derivation) }),
    ])
}
