import Foundation
import GRDB
import Reconciliation
import Subscriptions

/// Takes an entry over that was committed in the company's database and not in the books: a run was
/// killed between the two, or the connection was lost.
///
/// The row keeps its change; the books get the same entry, so that it is reported and can be
/// undone.
struct EntryAdoption {
    let db: Database
    let mapping: TableMapping
    let naming: EventNaming?
    /// The catalogue by which events name entitlements.
    let catalogue: ProductCatalogue?

    func take(_ entry: LedgerEntry) throws {
        let head = try Ledger(db: db).head()
        try Self.refuse(entry, behind: head, of: mapping)
        try Ledger(db: db).insert(entry)
        // A declared break changes no row.
        guard let table = entry.changes.mappedTable else { return }
        let outbox = OutboxWriter(db: db, naming: naming)
        let last = try outbox.lastNote()
        try changeCopy(of: table, by: entry)
        try settlePlanned(entry)
        try outbox.append(entry, after: last, by: catalogue)
        if let undone = entry.undoOf { try Ledger(db: db).noteReverted(undone) }
    }

    /// Refuses an entry that does not continue the books.
    ///
    /// - Parameters:
    ///   - entry: The next one of the company's ledger.
    ///   - head: The end of the books.
    ///   - mapping: For the name of the table.
    /// - Throws: `.schema`.
    static func refuse(
        _ entry: LedgerEntry, behind head: (number: Int64, hash: String), of mapping: TableMapping
    ) throws {
        guard entry.number > head.number, entry.previousHash == head.hash else {
            throw StoreError.schema(
                "The ledger next to \(mapping.table) continues with entry \(entry.number), which does "
                    + "not follow entry \(head.number) of trueup's database. That database was "
                    + "restored, or belongs to another table. Nothing was written. Restore the newest "
                    + "copy of it that you have.")
        }
    }

    /// The refresh that follows makes the copy equal anyway; this keeps the version that the entry
    /// states.
    private func changeCopy(of table: MappedTable, by entry: LedgerEntry) throws {
        let key = entry.companyKey
        let mark = CompanyRowMark(db: db, table: table, key: key)
        switch entry.rowAction {
        case .delete:
            try db.execute(
                sql: "DELETE FROM \(table.rawValue) WHERE \(table.isKey)",
                arguments: key.arguments)
            return try mark.forget()
        case .insert:
            try insert(key, into: table, of: entry)
            try mark.set(nil)
        case .update: break
        }
        var sets = entry.changes.named.map { ("\($0.column) = ?", $0.change.after.boundValue) }
        guard !sets.isEmpty else { return }
        try OptionalColumns.add(entry.changes.ofSubscription.keys, to: db)
        if table == .subscriptions {
            sets.append(("row_version = max(row_version + 1, ?)", entry.rowVersion ?? 0))
        }
        try db.execute(
            sql: """
                UPDATE \(table.rawValue) SET \(sets.map(\.0).joined(separator: ", "))
                WHERE \(table.isKey)
                """,
            arguments: StatementArguments(sets.map(\.1)) + key.arguments)
    }

    private func insert(
        _ key: SubscriptionKey, into table: MappedTable, of entry: LedgerEntry
    ) throws {
        let original = table == .purchases ? [entry.subscription.originalTransactionID] : []
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO \(table.rawValue) (
                    \(table.keyNames)\(original.isEmpty ? "" : ", original_transaction_id"))
                VALUES (?, ?, ?\(original.isEmpty ? "" : ", ?"))
                """, arguments: key.arguments + StatementArguments(original))
    }

    /// The correction of the checkpoint that it was written from is done.
    private func settlePlanned(_ entry: LedgerEntry) throws {
        guard
            let row = try db.row(
                "SELECT run_seq, pass_id FROM trueup_runs WHERE run_id = ?", [entry.runID]),
            let sequence = row.integer(at: 0), let passID = row.integer(at: 1)
        else { return }
        let planned = try db.row(
            """
            SELECT \(PlanApplication.StoredCorrection.columns)
            FROM trueup_pass_corrections AS c
            WHERE c.pass_id = ? AND c.bundle_id = ? AND c.environment = ?
                AND c.original_transaction_id = ? AND c.transaction_id = ?
                AND c.fate = 'planned' AND c.superseded_by IS NULL
                AND ifnull(c.undo_of, 0) = ?
            ORDER BY c.correction_id LIMIT 1
            """,
            [passID] + entry.subscription.arguments
                + [entry.transactionID ?? "", entry.undoOf ?? 0]
        ).map(PlanApplication.StoredCorrection.init)
        guard let planned else { return }
        try OutcomeStaging(db: db, run: RunReference(passID: passID, sequence: sequence))
            .note(.applied, of: planned)
    }
}

extension CompanyLedgerEntry {
    /// An entry of trueup's as it is in the company's ledger: the line of `corrections.jsonl`.
    init(_ entry: LedgerEntry) {
        self.init(
            number: entry.number, digest: entry.hash, run: entry.runID,
            content: String(decoding: entry.canonicalBytes, as: UTF8.self),
            writtenAt: entry.writtenAt)
    }

    /// An entry as a report shows it; `nil` where the line is not an entry.
    init?(line: String) {
        guard let entry = Line.entry(in: line) else { return nil }
        self.init(
            number: entry.number, digest: entry.hash, run: entry.runID, content: line,
            writtenAt: entry.writtenAt)
    }

    /// The entry, read back from its line.
    ///
    /// - Throws: `.inconsistent` where it is not what its hash was computed over.
    func ledgerEntry() throws -> LedgerEntry {
        guard let entry = Line.entry(in: content), entry.number == number, entry.hash == digest,
            entry.computedHash == entry.hash
        else {
            throw StoreError.inconsistent(
                "Entry \(number) of the ledger, next to your table or in a report, was changed after it was "
                    + "written. Nothing was written. Find out who changed it; `trueup verify` shows what "
                    + "the reports prove.")
        }
        return entry
    }

    /// The members of a line that belong to a subscription's row.
    private struct Line: Decodable {
        var ledgerEntry: Int64
        var ledgerPrevious: String
        var ledgerHash: String
        var runID: String
        var table: String?
        var kinds: [String]
        var app: String
        var environment: String
        var originalTransactionID: String
        var before: [String: Scalar]
        var after: [String: Scalar]
        var evidence: String
        var evidenceRenewal: String?
        var appleSignedDate: String
        var writtenAt: String
        var actor: String
        var reason: String
        var undoOf: Int64?
        var host: String?
        var action: String?
        var plan: String?
        var rowVersion: Int64?
        var accessContinuesBy: String?
        var transactionID: String?

        enum CodingKeys: String, CodingKey {
            case kinds, table, app, environment, before, after, evidence, actor, reason, host,
                action, plan
            case ledgerEntry = "ledger_entry"
            case ledgerPrevious = "ledger_previous"
            case ledgerHash = "ledger_hash"
            case runID = "run_id"
            case originalTransactionID = "original_transaction_id"
            case evidenceRenewal = "evidence_renewal"
            case appleSignedDate = "apple_signed_date"
            case writtenAt = "written_at"
            case undoOf = "undo_of"
            case rowVersion = "row_version"
            case accessContinuesBy = "access_continues_by"
            case transactionID = "transaction_id"
        }

        static func entry(in text: String) -> LedgerEntry? {
            (try? JSONDecoder().decode(Line.self, from: Data(text.utf8)))?.entry
        }

        private var entry: LedgerEntry? {
            guard let signed = Timestamp(rfc3339: appleSignedDate),
                let written = Timestamp(rfc3339: writtenAt)
            else { return nil }
            var entry = LedgerEntry(
                number: ledgerEntry, previousHash: ledgerPrevious, runID: runID,
                correction: PlannedCorrection(
                    target: target, changes: changes,
                    kinds: kinds.compactMap(FindingKind.init(rawValue:)),
                    evidence: EvidenceDigest(hexadecimal: evidence),
                    evidenceRenewal: evidenceRenewal.map(EvidenceDigest.init(hexadecimal:)),
                    appleSignedDate: signed, reason: reason, undoOf: undoOf),
                writtenAt: written, actor: actor)
            entry.hash = ledgerHash
            entry.host = host
            entry.action = action.flatMap(RowAction.init(rawValue:))
            entry.plan = plan
            entry.rowVersion = rowVersion
            entry.accessContinuesBy = accessContinuesBy
            return entry
        }

        private var target: PlannedCorrection.Target {
            let key = SubscriptionKey(
                bundleID: app, environment: environment,
                originalTransactionID: originalTransactionID)
            guard let transactionID else { return .insert(key) }
            return .insertPeriod(
                TransactionKey(
                    bundleID: app, environment: environment, transactionID: transactionID), of: key)
        }

        /// Of a row, or of the ledger where the entry declares a break.
        private var changes: ChangeSet {
            switch table.flatMap(ChangeSet.Table.init(rawValue:)) {
            case .ledger: .ledger(changes { $0 == .entry ? .integer : .text })
            case .purchases: .purchase(changes { $0.form })
            default: .subscription(changes { $0.form })
            }
        }

        private func changes<Field: NamedColumn>(
            _ form: (Field) -> FieldForm
        ) -> [Field: FieldChange] {
            var changes: [Field: FieldChange] = [:]
            for field in Field.allCases {
                guard let before = before[field.rawValue], let after = after[field.rawValue]
                else { continue }
                changes[field] = FieldChange(
                    before: before.value(as: form(field)), after: after.value(as: form(field)))
            }
            return changes
        }
    }

    /// A value of a column in JSON.
    private enum Scalar: Decodable {
        case null
        case integer(Int64)
        case text(String)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .null
            } else if let number = try? container.decode(Int64.self) {
                self = .integer(number)
            } else {
                self = .text(try container.decode(String.self))
            }
        }

        func value(as form: FieldForm) -> FieldValue {
            switch self {
            case .null: return .null
            case .integer(let number): return .integer(number)
            case .text(let text):
                guard form == .time, let time = Timestamp(rfc3339: text) else {
                    return .text(text)
                }
                return .time(time)
            }
        }
    }
}
