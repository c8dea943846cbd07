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
    /// - Returns: The entry with its number and hashes.
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

    /// Writes an entry that is sealed already.
    func takeOver(_ entry: LedgerEntry) throws { try insert(entry) }

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
            changes: try FieldValueText.changes(
                row.requiredText(at: 10), of: row.requiredText(at: 5)),
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
        undoOf = row.integer(at: 17)
        action = row.text(at: 18).flatMap(RowAction.init(rawValue:))
        host = row.text(at: 19)
        plan = row.text(at: 20)
        rowVersion = row.integer(at: 21)
        accessContinuesBy = row.text(at: 22)
    }
}

extension Ledger {
    /// How many of the newest entries are computed again.
    private static let checkedEntries = 32

    /// Throws unless the end of the ledger holds, before anything is added to it.
    ///
    /// The whole ledger is for `verify`; this reads a few entries and is done at every opening.
    func checkEnd() throws {
        let newest = try Row.fetchAll(
            db,
            sql:
                "SELECT \(LedgerEntry.columns) FROM trueup_ledger AS l ORDER BY l.entry DESC LIMIT ?",
            arguments: [Self.checkedEntries + 1]
        ).map { try LedgerEntry($0) }
        let reported = try ReportedEntries(db: db).last()
        let last = newest.first?.number ?? 0
        guard reported <= last else {
            throw Self.broken("it ends with entry \(last), but reports have shown \(reported)")
        }
        for (index, entry) in newest.prefix(Self.checkedEntries).enumerated() {
            let sealed = entry.previousHash + entry.canonicalWithoutHash.rendered
            guard Hexadecimal.sha256(of: sealed.utf8) == entry.hash else {
                throw Self.broken("entry \(entry.number) does not have the hash that it states")
            }
            let isFirst = index + 1 == newest.count
            let before = isFirst ? 0 : newest[index + 1].number
            let hashBefore = isFirst ? LedgerEntry.firstPreviousHash : newest[index + 1].hash
            guard entry.number == before + 1, entry.previousHash == hashBefore else {
                throw Self.broken("entry \(entry.number) does not continue entry \(before)")
            }
        }
    }

    private static func broken(_ what: String) -> StoreError {
        .inconsistent(
            "The ledger of corrections in the database is not as it was written: \(what). Nothing "
                + "was written. `trueup verify` tells what the reports prove; restore a backup of "
                + "the database.")
    }
}
