import GRDB
import Subscriptions

extension LedgerEntry {
    /// The columns that `init(_:)` reads, of the table `l`.
    static let columns = """
        l.entry, l.previous_hash, l.hash, l.run_id, l.kinds, l.target_table, l.bundle_id,
        l.environment, l.original_transaction_id, l.transaction_id, l.changes, l.evidence,
        l.evidence_renewal, l.apple_signed_date, l.written_at, l.actor, l.reason, l.undo_of,
        l.action, l.host, l.plan, l.row_version, l.access_continues_by
        """

    init(_ row: Row) throws {
        let key = SubscriptionKey(row, at: 6)
        let period = row.text(at: 9).map { id in
            TransactionKey(
                bundleID: key.bundleID, environment: key.environment, transactionID: id)
        }
        let correction = PlannedCorrection(
            target: period.map { .insertPeriod($0, of: key) } ?? .insert(key),
            changes: try FieldValueText.changes(row.requiredText(at: 10)),
            kinds: TextList.decode(row.requiredText(at: 4)).compactMap(FindingKind.init(rawValue:)),
            evidence: EvidenceDigest(hexadecimal: row.requiredText(at: 11)),
            evidenceRenewal: row.text(at: 12).map(EvidenceDigest.init(hexadecimal:)),
            appleSignedDate: row.time(at: 13) ?? Timestamp(unixMilliseconds: 0),
            reason: row.requiredText(at: 16))
        self.init(
            number: row.integer(at: 0) ?? 0, previousHash: row.requiredText(at: 1),
            runID: row.requiredText(at: 3), correction: correction,
            writtenAt: row.time(at: 14) ?? Timestamp(unixMilliseconds: 0),
            actor: row.requiredText(at: 15))
        hash = row.requiredText(at: 2)
        table = row.requiredText(at: 5)
        undoOf = row.integer(at: 17)
        action = row.text(at: 18).flatMap(RowAction.init(rawValue:))
        host = row.text(at: 19)
        plan = row.text(at: 20)
        rowVersion = row.integer(at: 21)
        accessContinuesBy = row.text(at: 22)
    }
}
