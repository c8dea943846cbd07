import GRDB
import Subscriptions

/// The chain of written corrections.
///
/// It is only ever appended to, inside the transaction that changes the row.
struct Ledger {
    let db: Database

    /// The newest entry's number and hash; 0 and 64 zeros of an empty ledger.
    func head() throws -> (number: Int64, hash: String) {
        let statement = try db.cachedStatement(
            sql: "SELECT entry, hash FROM trueup_ledger ORDER BY entry DESC LIMIT 1")
        guard let row = try Row.fetchOne(statement), let number = row.integer(at: 0) else {
            return (0, LedgerEntry.firstPreviousHash)
        }
        return (number, row.requiredText(at: 1))
    }

    /// Writes what was just changed.
    ///
    /// - Returns: the entry as it stands in the chain.
    func append(
        _ correction: PlannedCorrection, run: RunHeader, plan: String, rowVersion: Int64?,
        accessContinuesBy other: String? = nil, at now: Timestamp
    ) throws -> LedgerEntry {
        let head = try head()
        var entry = LedgerEntry(
            number: head.number + 1, previousHash: head.hash, runID: run.runID,
            correction: correction, writtenAt: now, actor: run.actor)
        entry.host = run.host
        entry.action = correction.action
        entry.plan = plan
        entry.rowVersion = rowVersion
        entry.accessContinuesBy = other
        return try seal(entry)
    }

    /// Writes that the ledger went back to an earlier entry.
    func append(
        declaring lost: LedgerBreak, reason: String, manifest: String, run: RunHeader,
        at now: Timestamp
    ) throws -> LedgerEntry {
        let head = try head()
        return try seal(
            LedgerEntry(
                number: head.number + 1, previousHash: head.hash, declaring: lost, reason: reason,
                manifest: manifest, run: run, at: now))
    }

    private func seal(_ entry: LedgerEntry) throws -> LedgerEntry {
        var entry = entry
        let sealed = entry.previousHash + entry.canonicalWithoutHash.rendered
        entry.hash = Hexadecimal.sha256(of: sealed.utf8)
        try insert(entry)
        return entry
    }

    private func insert(_ entry: LedgerEntry) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO trueup_ledger (
                    entry, previous_hash, hash, run_id, kinds, target_table, bundle_id,
                    environment, original_transaction_id, transaction_id, changes, evidence,
                    evidence_renewal, apple_signed_date, written_at, actor, reason, undo_of,
                    action, host, plan, row_version, access_continues_by)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(
            arguments: [
                entry.number, entry.previousHash, entry.hash, entry.runID,
                TextList.encode(entry.kinds.map(\.rawValue)), entry.table,
            ] + entry.subscription.arguments + [
                entry.transactionID, FieldValueText.encode(entry.changes),
                entry.evidence.hexadecimal, entry.evidenceRenewal?.hexadecimal,
                entry.appleSignedDate.unixMilliseconds, entry.writtenAt.unixMilliseconds,
                entry.actor, entry.reason, entry.undoOf, entry.action?.rawValue, entry.host,
                entry.plan, entry.rowVersion, entry.accessContinuesBy,
            ])
    }
}
