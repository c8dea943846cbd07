import Crypto
import GRDB
package import Subscriptions

/// The chain of written corrections.
///
/// It is only ever appended to, inside the transaction that changes the row.
struct Ledger {
    let db: Database

    /// The newest entry's number and hash; 0 and 64 zeros of an empty ledger.
    func head() throws -> (number: Int64, hash: String) {
        guard
            let row = try db.row(
                cached: "SELECT entry, hash FROM trueup_ledger ORDER BY entry DESC LIMIT 1"),
            let number = row.integer(at: 0)
        else {
            return (0, LedgerEntry.firstPreviousHash)
        }
        return (number, row.requiredText(at: 1))
    }

    /// When it was noticed last that the tables had been restored; `nil` where they never were.
    func lastRestore() throws -> Timestamp? {
        try db.integer(cached: "SELECT max(noticed_at) FROM trueup_restores").map(
            Timestamp.init(unixMilliseconds:))
    }

    /// Writes what was just changed.
    ///
    /// - Returns: The entry with its number and hashes.
    func append(
        _ correction: PlannedCorrection, behind head: (number: Int64, hash: String), run: RunHeader,
        plan: String, rowVersion: Int64?, accessContinuesBy other: String? = nil, at now: Timestamp
    ) throws -> LedgerEntry {
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

    private static let insertion = """
        INSERT INTO trueup_ledger (\(LedgerEntry.columnNames.joined(separator: ", ")))
        VALUES (\(LedgerEntry.columnNames.map { _ in "?" }.joined(separator: ", ")))
        """

    private func seal(_ entry: LedgerEntry) throws -> LedgerEntry {
        var entry = entry
        entry.hash = entry.computedHash
        try insert(entry)
        return entry
    }

    /// Writes an entry that is sealed already.
    func insert(_ entry: LedgerEntry) throws {
        try db.executeCached(
            Self.insertion,
            [
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
    /// The hash that the entry must have.
    var computedHash: String {
        var hash = SHA256()
        hash.update(data: Array(previousHash.utf8))
        hash.update(data: sealedBytes)
        return hash.finalize().hexadecimal
    }

    fileprivate static let columnNames = [
        "entry", "previous_hash", "hash", "run_id", "kinds", "target_table", "bundle_id",
        "environment", "original_transaction_id", "transaction_id", "changes", "evidence",
        "evidence_renewal", "apple_signed_date", "written_at", "actor", "reason", "undo_of",
        "action", "host", "plan", "row_version", "access_continues_by",
    ]

    /// The columns that `init(_:)` reads, of the table `l`.
    static let columns = columnNames.map { "l." + $0 }.joined(separator: ", ")

    init(_ row: Row) throws {
        var columns = RowColumns(row)
        try self.init(&columns)
    }

    init(_ columns: inout RowColumns) throws {
        let (number, previousHash) = (columns.integer() ?? 0, columns.requiredText())
        let (hash, runID) = (columns.requiredText(), columns.requiredText())
        let kinds = columns.list().compactMap(FindingKind.init(rawValue:))
        let (table, key) = (columns.requiredText(), columns.key())
        let period = columns.text().map(key.transaction)
        var correction = PlannedCorrection(
            target: period.map { .insertPeriod($0, of: key) } ?? .insert(key),
            changes: try FieldValueText.changes(columns.requiredText(), of: table), kinds: kinds,
            evidence: columns.requiredDigest(), evidenceRenewal: columns.digest(),
            appleSignedDate: columns.requiredTime(), reason: "")
        let (writtenAt, actor) = (columns.requiredTime(), columns.requiredText())
        correction.reason = columns.requiredText()
        self.init(
            number: number, previousHash: previousHash, runID: runID, correction: correction,
            writtenAt: writtenAt, actor: actor)
        self.hash = hash
        undoOf = columns.integer()
        action = columns.text().flatMap(RowAction.init(rawValue:))
        host = columns.text()
        plan = columns.text()
        rowVersion = columns.integer()
        accessContinuesBy = columns.text()
    }
}

extension Ledger {
    /// How many of the newest entries are computed again.
    private static let checkedEntries = 32

    /// Throws unless the end of the ledger holds, before anything is added to it.
    ///
    /// The whole ledger is for `verify`; this reads a few entries and is done at every opening.
    func checkEnd() throws {
        let newest = try db.rows(
            "SELECT \(LedgerEntry.columns) FROM trueup_ledger AS l ORDER BY l.entry DESC LIMIT ?",
            [Self.checkedEntries + 1]
        ).map { try LedgerEntry($0) }
        let reported = try ReportedEntries(db: db).last()
        let last = newest.first?.number ?? 0
        guard reported <= last else {
            throw Self.broken("it ends with entry \(last), but reports have shown \(reported)")
        }
        for (index, entry) in newest.prefix(Self.checkedEntries).enumerated() {
            guard entry.computedHash == entry.hash else {
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
                + "was written. `trueup verify` shows what the reports prove; restore a backup of "
                + "the database.")
    }
}

/// Reading the whole ledger, and declaring that part of it was lost.
extension SQLiteStore {
    /// Every ledger row as stored, column by column, in the order of entry numbers.
    ///
    /// The auditor interprets the columns by itself. One that is neither NULL nor an integer or text
    /// is `nil`.
    package func forEachLedgerRow(_ body: ([String: FieldValue?]) throws -> Void) throws {
        try forEachRow("SELECT * FROM trueup_ledger ORDER BY entry", "reading the ledger", body)
    }

    /// Every row of the decisions about findings as stored, in their order.
    package func forEachDecisionRow(_ body: ([String: FieldValue?]) throws -> Void) throws {
        try forEachRow(
            "SELECT * FROM trueup_decisions ORDER BY decision", "reading the decisions", body)
    }

    /// The highest number of a decision by which a run reported a finding as acknowledged.
    package func highestDecisionInUse() throws -> Int64? {
        try stream("reading which decisions are in use") { db in
            try db.integer("SELECT max(decision) FROM trueup_run_findings")
        }
    }

    private func forEachRow(
        _ query: String, _ doing: String, _ body: ([String: FieldValue?]) throws -> Void
    ) throws {
        try stream(doing) { db in
            try db.forEachRow(query) { row in
                var cells: [String: FieldValue?] = [:]
                for (column, value) in row {
                    let cell: FieldValue? =
                        switch value.storage {
                        case .null: .null
                        case .int64(let number): .integer(number)
                        case .string(let text): .text(text)
                        default: nil
                        }
                    cells.updateValue(cell, forKey: column)
                }
                try body(cells)
            }
        }
    }

    /// The newest entry's number and hash; 0 and 64 zeros of an empty ledger.
    package func ledgerHead() throws(StoreError) -> (number: Int64, hash: String) {
        try view("reading the ledger's head") { try Ledger(db: $0).head() }
    }

    /// The number of the entry with a hash; 0 for the 64 zeros before the first, `nil` for none.
    package func ledgerEntry(withHash hash: String) throws(StoreError) -> Int64? {
        guard hash != LedgerEntry.firstPreviousHash else { return 0 }
        return try view("looking for a ledger entry") { db in
            try db.integer("SELECT entry FROM trueup_ledger WHERE hash = ?", [hash])
        }
    }

    /// The hash of an entry; 64 zeros for 0.
    package func ledgerHash(ofEntry number: Int64) throws(StoreError) -> String? {
        guard number > 0 else { return LedgerEntry.firstPreviousHash }
        return try view("looking for a ledger entry") { db in
            try db.text("SELECT hash FROM trueup_ledger WHERE entry = ?", [number])
        }
    }

    /// How many corrections a run wrote, whether or not a report shows them.
    ///
    /// - Parameter runID: The run.
    /// - Returns: The number of its entries in the ledger.
    /// - Throws: `StoreError` when the database cannot be read.
    package func corrections(writtenByRun runID: String) throws(StoreError) -> Int {
        let doing = "counting the corrections of the run \(runID)"
        return try view(doing) { db in
            try db.count(
                "SELECT count(*) FROM trueup_ledger WHERE run_id = ? AND target_table <> ?",
                [runID, ChangeSet.Table.ledger.rawValue])
        }
    }

    /// Writes an entry for each break of the ledger that is declared, and notes that the run's
    /// report shows them.
    ///
    /// An entry already written, whose report was never published, is not written again.
    package func declareRestored(
        _ breaks: [LedgerBreak], reason: String, manifest: String, run: RunHeader, at now: Timestamp
    ) async throws(StoreError) -> [LedgerEntry] {
        try await write("declaring that the ledger was restored") { db in
            try breaks.map { lost in
                let entry =
                    try Self.declaration(of: lost, db)
                    ?? Ledger(db: db).append(
                        declaring: lost, reason: reason, manifest: manifest, run: run, at: now)
                try ReportedEntries(db: db).show(entry.number, byRun: run.runID)
                return entry
            }
        }
    }

    /// Forgets by what the rows were checked, so that every one is checked again: the database was
    /// restored, and what it remembers of Apple's words is older than what the reports tell.
    ///
    /// Once for each loss, however often it is noticed; a killed process leaves the rest to the
    /// next.
    ///
    /// - Parameters:
    ///   - lostHash: The hash of the newest entry that only the reports have.
    ///   - now: When it was noticed.
    /// - Throws: `StoreError` when the database cannot be read or written.
    package func lookAtEveryRowAgain(
        afterLossOf lostHash: String, at now: Timestamp
    ) async throws(StoreError) {
        let doing = "marking every row to be checked again after a restore"
        let isNoticed = try await read(doing) { db in
            try db.holds("trueup_restores WHERE lost_hash = ?", [lostHash])
        }
        guard !isNoticed else { return }
        while try await write(
            doing,
            { db in
                try db.execute(
                    sql: """
                        DELETE FROM trueup_checks
                        WHERE (bundle_id, environment, original_transaction_id) IN (
                            SELECT bundle_id, environment, original_transaction_id
                            FROM trueup_checks LIMIT \(StoreLimits.rowsPerChunk))
                        """)
                return db.changesCount > 0
            })
        {}
        try await write(doing) { db in
            // Events are ordered by it: a clock that went back must not put them before earlier
            // ones.
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO trueup_restores
                    SELECT ?, max(?, ifnull(max(noticed_at) + 1, 0)) FROM trueup_restores
                    """,
                arguments: [lostHash, now.unixMilliseconds])
        }
    }

    /// When it was noticed last that the tables had been restored; `nil` where they never were.
    package func newestRestore() throws(StoreError) -> Timestamp? {
        try view("looking for restores") { try Ledger(db: $0).lastRestore() }
    }

    /// Whether all entries of a range only declare breaks.
    package func isDeclaration(
        ofEntry first: Int64, through last: Int64
    ) throws(StoreError) -> Bool {
        try view("looking for declarations") { db in
            try !db.holds(
                "trueup_ledger WHERE entry BETWEEN ? AND ? AND target_table <> ?",
                [first, last, ChangeSet.Table.ledger.rawValue])
        }
    }

    private static func declaration(of lost: LedgerBreak, _ db: Database) throws -> LedgerEntry? {
        try db.row(
            """
            SELECT \(LedgerEntry.columns) FROM trueup_ledger AS l
            WHERE l.target_table = ? AND l.changes = ?
            """, [ChangeSet.Table.ledger.rawValue, FieldValueText.encode(lost.changes)]
        ).map { try LedgerEntry($0) }
    }
}

extension SQLiteStore {
    /// Returns why a name cannot be used as a run's that belongs to a declared restore; `nil` for any
    /// other name.
    static func declaration(
        reportedAs runID: String, _ db: Database
    ) throws -> String? {
        let declared = try db.row(
            """
            SELECT entry, reason, written_at FROM trueup_ledger
            WHERE run_id = ? AND target_table = ? ORDER BY entry LIMIT 1
            """, [runID, ChangeSet.Table.ledger.rawValue])
        guard let declared, let written = declared.time(at: 2) else { return nil }
        return
            "\(runID) is not a run but a declaration: at \(written.rfc3339) `trueup restored` declared "
            + "that the database was restored (\(declared.requiredText(at: 1))). It checked and "
            + "changed no row, so there is no report to render. The declaration is entry "
            + "\(declared.integer(at: 0) ?? 0) of the ledger. Its report folder has it as well; "
            + "`trueup verify` checks that folder."
    }
}
