import FoundationEssentials
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

/// The common part of the lines of one correction; an object, because each of them has it.
private final class CorrectedRow: Sendable {
    /// The entry that was written, or that would be written next.
    let entry: LedgerEntry
    let fate: CorrectionFate
    let isWritten: Bool

    init(_ entry: LedgerEntry) {
        self.entry = entry
        fate = .applied
        isWritten = true
    }

    init(_ correction: PlannedCorrection, ofRun runID: String, fate: CorrectionFate) {
        var entry = LedgerEntry(
            number: 0, previousHash: "", runID: runID, correction: correction,
            writtenAt: Timestamp(unixMilliseconds: 0), actor: "")
        entry.action = correction.action
        let others = correction.continuedBy
        entry.accessContinuesBy = others.isEmpty ? nil : others.joined(separator: " ")
        self.entry = entry
        self.fate = fate
        isWritten = false
    }

    /// A line for each changed column, by name.
    var fields: [ChangedField] {
        entry.changes.named.map {
            ChangedField(field: $0.column, change: $0.change, ofCorrection: self)
        }
    }

    /// A cell that only an entry of the ledger fills.
    func written(_ cell: (LedgerEntry) -> Cell) -> Cell { isWritten ? cell(entry) : .null }
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
    var changedFields: [ChangedField] { CorrectedRow(self).fields }
}

extension PlannedCorrection {
    /// The columns that would change, by name; no ledger entry lists them.
    ///
    /// - Parameters:
    ///   - runID: The run that planned them.
    ///   - fate: What became of them.
    /// - Returns: A line each.
    func changedFields(ofRun runID: String, fate: CorrectionFate) -> [ChangedField] {
        CorrectedRow(self, ofRun: runID, fate: fate).fields
    }
}

extension Table where Record == ChangedField {
    /// The members of a ledger entry with `field`, `before` and `after` of one column.
    static let changedFields = Table([
        ("ledger_entry", { $0.ofCorrection.written { .integer($0.number) } }),
        ("ledger_previous", { $0.ofCorrection.written { .own($0.previousHash) } }),
        ("ledger_hash", { $0.ofCorrection.written { .own($0.hash) } }),
        ("run_id", { .own($0.ofCorrection.entry.runID) }),
        ("kinds", { .own($0.ofCorrection.entry.kinds.map(\.rawValue).joined(separator: " ")) }),
        ("table", { .own($0.ofCorrection.entry.table) }),
        ("app", { .text($0.ofCorrection.entry.subscription.bundleID) }),
        ("environment", { .text($0.ofCorrection.entry.subscription.environment) }),
        (
            "original_transaction_id",
            { .text($0.ofCorrection.entry.subscription.originalTransactionID) }
        ),
        ("transaction_id", { Cell($0.ofCorrection.entry.transactionID) }),
        ("field", { .text($0.field) }),
        ("before", { Cell($0.change.before) }),
        ("after", { Cell($0.change.after) }),
        ("evidence", { Cell($0.ofCorrection.entry.evidence) }),
        ("evidence_renewal", { Cell($0.ofCorrection.entry.evidenceRenewal) }),
        ("apple_signed_date", { Cell($0.ofCorrection.entry.appleSignedDate) }),
        ("written_at", { $0.ofCorrection.written { Cell($0.writtenAt) } }),
        ("actor", { $0.ofCorrection.written { .text($0.actor) } }),
        ("reason", { .text($0.ofCorrection.entry.reason) }),
        ("undo_of", { Cell($0.ofCorrection.entry.undoOf) }),
        ("action", { $0.ofCorrection.entry.action.map { .own($0.rawValue) } ?? .null }),
        ("host", { $0.ofCorrection.written { Cell($0.host) } }),
        ("plan", { $0.ofCorrection.written { $0.plan.map(Cell.own) ?? .null } }),
        ("row_version", { $0.ofCorrection.written { Cell($0.rowVersion) } }),
        ("access_continues_by", { Cell($0.ofCorrection.entry.accessContinuesBy) }),
        ("fate", { .own($0.ofCorrection.fate.rawValue) }),
        ("derivation", { Cell($0.derivation) }),
    ])
}

/// A status that was written on Apple's statement, and from which signed fields it follows.
///
/// It is made from the evidence each time it is shown: the ledger entry, and so its hash, does not
/// hold it.
struct CorrectedStatus {
    let entry: LedgerEntry
    let status: Int64
    let basis: Basis

    enum Basis: Equatable {
        case derived(SignedStatusFields)
        /// A payload was erased on purpose: what it said cannot be shown.
        case erased
        /// A payload is not held, or cannot be read; `verify` says why that is wrong.
        case missing
    }

    /// `nil` for a correction that states no status.
    init?(_ correction: ReportedCorrection) {
        guard let status = correction.entry.statedStatus else { return nil }
        self.entry = correction.entry
        self.status = status
        switch (correction.transaction, correction.renewal) {
        case (.erased, _), (_, .erased): basis = .erased
        case (.payload(let transaction), .payload(let renewal)):
            let fields = SignedStatusFields(
                transaction: SignedPart(transaction.jws), renewal: SignedPart(renewal.jws))
            basis = fields.map(Basis.derived) ?? .missing
        default: basis = .missing
        }
    }

    /// One sentence for people.
    var sentence: String {
        switch basis {
        case .derived(let derivation): derivation.sentence(forStatus: status)
        case .erased: "status \(status): what Apple signed was erased"
        case .missing: "status \(status): what Apple signed is not held"
        }
    }

    /// The line of `derivations.jsonl`.
    var members: [String: CanonicalJSON] {
        var members: [String: CanonicalJSON] = [
            "app": .string(entry.subscription.bundleID),
            "derivation": .string(sentence),
            "derived_status": .null,
            "environment": .string(entry.subscription.environment),
            "evidence": .string(entry.evidence.hexadecimal),
            "evidence_renewal": .text(entry.evidenceRenewal?.hexadecimal),
            "fields": .null,
            "ledger_entry": .integer(entry.number),
            "original_transaction_id": .string(entry.subscription.originalTransactionID),
            "run_id": .string(entry.runID),
            "status": .integer(status),
        ]
        if case .derived(let derivation) = basis {
            members["derived_status"] = .integer(Int64(derivation.status.rawValue))
            members["fields"] = derivation.fieldsJSON
        }
        return members
    }
}

/// The fields of one payload from which a status follows, by Apple's names.
///
/// The payload was verified before it was kept; here it is only shown.
private struct SignedPart: Decodable {
    var signedDate: Moment?
    var expiresDate: Moment?
    var renewalDate: Moment?
    var revocationDate: Moment?
    var revocationType: String?
    var isUpgraded: Bool?
    var isInBillingRetryPeriod: Bool?
    var gracePeriodExpiresDate: Moment?

    /// UNIX milliseconds; a fraction of one is dropped.
    struct Moment: Decodable {
        let time: Timestamp?

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            let number =
                try (try? container.decode(Int64.self))
                ?? Int64(exactly: container.decode(Double.self).rounded(.down))
            time = number.map(Timestamp.init(unixMilliseconds:))
        }
    }

    /// `nil` where the text is not a compact JWS with such a payload.
    init?(_ jws: String) {
        guard let bytes = JWSSegments.payload(of: jws),
            let part = try? JSONDecoder().decode(SignedPart.self, from: Data(bytes))
        else { return nil }
        self = part
    }
}

extension SignedStatusFields {
    /// `nil` where one of the payloads states no date of signing.
    fileprivate init?(transaction: SignedPart?, renewal: SignedPart?) {
        guard let transaction, let renewal, let first = transaction.signedDate?.time,
            let second = renewal.signedDate?.time
        else { return nil }
        self.init(signedDate: max(first, second))
        expiresDate = transaction.expiresDate?.time
        renewalDate = renewal.renewalDate?.time
        revocationDate = transaction.revocationDate?.time
        revocationType = transaction.revocationType
        isUpgraded = transaction.isUpgraded ?? false
        isInBillingRetryPeriod = renewal.isInBillingRetryPeriod
        gracePeriodExpiresDate = renewal.gracePeriodExpiresDate?.time
    }
}

/// The corrections that `corrections.csv` counts in one line instead of listing them: those that
/// fix no finding and only fill what was empty, and those that add a period for the same reason.
///
/// `corrections.jsonl` has a line for each of them.
struct FillTotal {
    /// The value of the column `field` in the line.
    static let field = "fills_and_new_periods"

    let runID: String
    let fate: CorrectionFate
    private var fills = 0
    private var newPeriods = 0

    init(runID: String, fate: CorrectionFate) {
        self.runID = runID
        self.fate = fate
    }

    /// Counts plain new periods, none of which is listed.
    mutating func add(newPeriods count: Int) { newPeriods += count }

    /// Counts an entry that is not listed; whether it is one.
    mutating func take(_ entry: LedgerEntry) -> Bool {
        take(
            isRevert: entry.undoOf != nil, entry.kinds, entry.changes,
            isPeriod: entry.transactionID != nil,
            entry.rowAction)
    }

    /// Counts a correction that is only planned.
    mutating func take(_ correction: PlannedCorrection) -> Bool {
        take(
            isRevert: correction.undoOf != nil, correction.kinds, correction.changes,
            isPeriod: correction.transactionID != nil, correction.action)
    }

    private mutating func take(
        isRevert: Bool, _ kinds: [FindingKind], _ changes: ChangeSet, isPeriod: Bool,
        _ action: RowAction
    ) -> Bool {
        guard !isRevert, kinds.isEmpty, changes.before.values.allSatisfy({ $0 == .null }) else {
            return false
        }
        switch (action, isPeriod) {
        case (.update, _): fills += 1
        case (.insert, true): newPeriods += 1
        case (.insert, false), (.delete, _): return false
        }
        return true
    }

    /// Appends the line that counts them; nothing where there are none.
    func append(
        to table: Table<ChangedField>, _ notice: String?, _ bytes: inout [UInt8]
    ) {
        let count = fills + newPeriods
        guard count > 0 else { return }
        let list = fate == .applied ? "corrections.jsonl" : "plan.json"
        let values: [String: Cell] = [
            "run_id": .own(runID), "field": .own(Self.field), "after": Cell(count),
            "reason": .own(
                "\(fills.grouped) first fills and \(newPeriods.grouped) new periods, each with a line "
                    + "in \(list)"),
            "fate": .own(fate.rawValue), "notice": Cell(notice),
        ]
        for (index, column) in table.columns.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            (values[column.name] ?? .null).appendCSV(to: &bytes)
        }
        bytes += [0x0D, 0x0A]
    }
}
