import Subscriptions

/// One column that a correction changed, or that a check would change: a line of `corrections.csv`.
struct ChangedField {
    /// The columns in which the lines of a correction differ; all others are `ofCorrection`.
    static let ownColumns: Set<String> = ["field", "before", "after", "derivation"]

    let field: String
    let change: FieldChange
    fileprivate let ofCorrection: CorrectedRow
    /// From which signed fields a status follows; `nil` for other columns.
    var derivation: String?
}

/// What the lines of one correction share; an object, because each of them has it.
private final class CorrectedRow: Sendable {
    let fate: CorrectionFate
    /// What was written; `nil` for what is only planned.
    let entry: LedgerEntry?
    let runID: String
    let kinds: [FindingKind]
    let table: String
    let subscription: SubscriptionKey
    let transactionID: String?
    let evidence: EvidenceDigest
    let evidenceRenewal: EvidenceDigest?
    let appleSignedDate: Timestamp
    let reason: String
    let undoOf: Int64?
    let action: RowAction?
    let accessContinuesBy: String?

    init(_ entry: LedgerEntry) {
        fate = .applied
        self.entry = entry
        runID = entry.runID
        kinds = entry.kinds
        table = entry.table
        subscription = entry.subscription
        transactionID = entry.transactionID
        evidence = entry.evidence
        evidenceRenewal = entry.evidenceRenewal
        appleSignedDate = entry.appleSignedDate
        reason = entry.reason
        undoOf = entry.undoOf
        action = entry.action
        accessContinuesBy = entry.accessContinuesBy
    }

    init(_ correction: PlannedCorrection, ofRun runID: String, fate: CorrectionFate) {
        self.fate = fate
        entry = nil
        self.runID = runID
        kinds = correction.kinds
        table = correction.table
        subscription = correction.subscription
        transactionID = correction.transactionID
        evidence = correction.evidence
        evidenceRenewal = correction.evidenceRenewal
        appleSignedDate = correction.appleSignedDate
        reason = correction.reason
        undoOf = correction.undoOf
        action = correction.action
        let others = correction.continuedBy
        accessContinuesBy = others.isEmpty ? nil : others.joined(separator: " ")
    }
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
        let row = CorrectedRow(self)
        return changes.named.map {
            ChangedField(field: $0.column, change: $0.change, ofCorrection: row)
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
        let row = CorrectedRow(self, ofRun: runID, fate: fate)
        return changes.named.map {
            ChangedField(field: $0.column, change: $0.change, ofCorrection: row)
        }
    }
}

extension Table where Record == ChangedField {
    /// The members of a ledger entry with `field`, `before` and `after` of one column.
    static let changedFields = Table([
        ("ledger_entry", { $0.ofCorrection.entry.map { .integer($0.number) } ?? .null }),
        ("ledger_previous", { $0.ofCorrection.entry.map { .own($0.previousHash) } ?? .null }),
        ("ledger_hash", { $0.ofCorrection.entry.map { .own($0.hash) } ?? .null }),
        ("run_id", { .own($0.ofCorrection.runID) }),
        ("kinds", { .own($0.ofCorrection.kinds.map(\.rawValue).joined(separator: " ")) }),
        ("table", { .own($0.ofCorrection.table) }),
        ("app", { .text($0.ofCorrection.subscription.bundleID) }),
        ("environment", { .text($0.ofCorrection.subscription.environment) }),
        ("original_transaction_id", { .text($0.ofCorrection.subscription.originalTransactionID) }),
        ("transaction_id", { Cell($0.ofCorrection.transactionID) }),
        ("field", { .text($0.field) }),
        ("before", { Cell($0.change.before) }),
        ("after", { Cell($0.change.after) }),
        ("evidence", { Cell($0.ofCorrection.evidence) }),
        ("evidence_renewal", { Cell($0.ofCorrection.evidenceRenewal) }),
        ("apple_signed_date", { Cell($0.ofCorrection.appleSignedDate) }),
        ("written_at", { $0.ofCorrection.entry.map { Cell($0.writtenAt) } ?? .null }),
        ("actor", { $0.ofCorrection.entry.map { .text($0.actor) } ?? .null }),
        ("reason", { .text($0.ofCorrection.reason) }),
        ("undo_of", { Cell($0.ofCorrection.undoOf) }),
        ("action", { $0.ofCorrection.action.map { .own($0.rawValue) } ?? .null }),
        ("host", { Cell($0.ofCorrection.entry?.host) }),
        ("plan", { ($0.ofCorrection.entry?.plan).map(Cell.own) ?? .null }),
        ("row_version", { Cell($0.ofCorrection.entry?.rowVersion) }),
        ("access_continues_by", { Cell($0.ofCorrection.accessContinuesBy) }),
        ("fate", { .own($0.ofCorrection.fate.rawValue) }),
        ("derivation", { Cell($0.derivation) }),
    ])
}
