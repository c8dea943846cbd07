import Foundation
import Subscriptions

extension CompanyLedgerEntry {
    /// An entry of ours as it stands in the company's ledger: the line of `corrections.jsonl`.
    init(_ entry: LedgerEntry) {
        self.init(
            number: entry.number, digest: entry.hash, run: entry.runID,
            content: entry.canonical.rendered, writtenAt: entry.writtenAt)
    }

    /// An entry as a report shows it; `nil` where the line is no entry.
    init?(line: String) {
        guard let read = try? JSONDecoder().decode(Line.self, from: Data(line.utf8)),
            let entry = read.entry
        else { return nil }
        self.init(
            number: entry.number, digest: entry.hash, run: entry.runID, content: line,
            writtenAt: entry.writtenAt)
    }

    /// The entry, read back from its line.
    ///
    /// - Throws: `.inconsistent` where it is not what its hash was computed over.
    func ledgerEntry() throws -> LedgerEntry {
        guard let line = try? JSONDecoder().decode(Line.self, from: Data(content.utf8)),
            let entry = line.entry
        else { throw damage }
        let sealed = entry.previousHash + entry.canonicalWithoutHash.rendered
        guard entry.number == number, entry.hash == digest,
            Hexadecimal.sha256(of: sealed.utf8) == entry.hash
        else { throw damage }
        return entry
    }

    private var damage: StoreError {
        .inconsistent(
            "Entry \(number) of the ledger, beside your table or in a report, is not as it was written: it was "
                + "changed. Nothing was written. Find out who changed it; `trueup verify` tells "
                + "what the reports prove.")
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
        }

        var entry: LedgerEntry? {
            guard let signed = Timestamp(rfc3339: appleSignedDate),
                let written = Timestamp(rfc3339: writtenAt)
            else { return nil }
            let key = SubscriptionKey(
                bundleID: app, environment: environment,
                originalTransactionID: originalTransactionID)
            var entry = LedgerEntry(
                number: ledgerEntry, previousHash: ledgerPrevious, runID: runID,
                correction: PlannedCorrection(
                    target: .insert(key), changes: changes,
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

        /// Of a row, or of the ledger where the entry declares a break.
        private var changes: ChangeSet {
            guard table == ChangeSet.Table.ledger.rawValue else {
                return .subscription(changes { $0.form })
            }
            return .ledger(changes { $0 == .entry ? .integer : .text })
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
