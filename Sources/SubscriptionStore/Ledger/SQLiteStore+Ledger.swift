import GRDB
package import Subscriptions

/// One column as it stands in the database.
package enum StoredCell: Hashable, Sendable {
    case null
    case integer(Int64)
    case text(String)
    case other
}

/// Reading the whole ledger, and declaring that part of it was lost.
extension SQLiteStore {
    /// Every ledger row as stored, column by column, in the order of entry numbers.
    ///
    /// The auditor interprets the columns by itself.
    package func forEachLedgerRow(_ body: ([String: StoredCell]) throws -> Void) throws {
        try forEachRow("SELECT * FROM trueup_ledger ORDER BY entry", "reading the ledger", body)
    }

    /// The same of the decisions about findings.
    package func forEachDecisionRow(_ body: ([String: StoredCell]) throws -> Void) throws {
        try forEachRow(
            "SELECT * FROM trueup_decisions ORDER BY decision", "reading the decisions", body)
    }

    /// The highest number of a decision by which a run reported a finding as acknowledged.
    package func highestDecisionInUse() throws -> Int64? {
        try stream("reading which decisions are in use") { db in
            try Int64.fetchOne(db, sql: "SELECT max(decision) FROM trueup_run_findings")
        }
    }

    private func forEachRow(
        _ query: String, _ doing: String, _ body: ([String: StoredCell]) throws -> Void
    ) throws {
        try stream(doing) { db in
            let rows = try Row.fetchCursor(db, sql: query)
            while let row = try rows.next() {
                var cells: [String: StoredCell] = [:]
                for (column, value) in row {
                    cells[column] =
                        switch value.storage {
                        case .null: .null
                        case .int64(let number): .integer(number)
                        case .string(let text): .text(text)
                        default: .other
                        }
                }
                try body(cells)
            }
        }
    }

    /// The newest entry's number and hash; 0 and 64 zeros of an empty ledger.
    package func ledgerHead() throws(StoreError) -> (number: Int64, hash: String) {
        do {
            return try stream("reading the ledger's head") { try Ledger(db: $0).head() }
        } catch {
            throw StoreError(error, doing: "reading the ledger's head")
        }
    }

    /// The number of the entry with a hash; 0 for the 64 zeros before the first, `nil` for none.
    package func ledgerEntry(withHash hash: String) throws(StoreError) -> Int64? {
        guard hash != LedgerEntry.firstPreviousHash else { return 0 }
        do {
            return try stream("looking for a ledger entry") { db in
                try Int64.fetchOne(
                    db, sql: "SELECT entry FROM trueup_ledger WHERE hash = ?", arguments: [hash])
            }
        } catch {
            throw StoreError(error, doing: "looking for a ledger entry")
        }
    }

    /// The hash of an entry; 64 zeros for 0.
    package func ledgerHash(ofEntry number: Int64) throws(StoreError) -> String? {
        guard number > 0 else { return LedgerEntry.firstPreviousHash }
        do {
            return try stream("looking for a ledger entry") { db in
                try String.fetchOne(
                    db, sql: "SELECT hash FROM trueup_ledger WHERE entry = ?", arguments: [number])
            }
        } catch {
            throw StoreError(error, doing: "looking for a ledger entry")
        }
    }

    /// How many corrections a run wrote, whether or not a report shows them.
    ///
    /// - Parameter runID: The run.
    /// - Returns: The number of its entries in the ledger.
    /// - Throws: `StoreError` when the database cannot be read.
    package func corrections(writtenByRun runID: String) throws(StoreError) -> Int {
        let doing = "counting the corrections of the run \(runID)"
        do {
            return try stream(doing) { db in
                try Int.fetchOne(
                    db,
                    sql: """
                        SELECT count(*) FROM trueup_ledger WHERE run_id = ? AND target_table <> ?
                        """,
                    arguments: [runID, ChangeSet.Table.ledger.rawValue]) ?? 0
            }
        } catch {
            throw StoreError(error, doing: doing)
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

    /// Forgets by what the rows were judged, so that every one is asked about again: the database was
    /// restored, and what it remembers of Apple's words is older than what the reports tell.
    ///
    /// Once for each loss, however often it is noticed; a killed process leaves the rest to the next.
    ///
    /// - Parameters:
    ///   - lostHash: The hash of the newest entry that only the reports have.
    ///   - now: When it was noticed.
    /// - Throws: `StoreError` when the database cannot be read or written.
    package func lookAtEveryRowAgain(
        afterLossOf lostHash: String, at now: Timestamp
    ) async throws(StoreError) {
        let doing = "marking every row to be looked at again after a restore"
        let isNoticed = try await read(doing) { db in
            try Bool.fetchOne(
                db, sql: "SELECT EXISTS (SELECT 1 FROM trueup_restores WHERE lost_hash = ?)",
                arguments: [lostHash]) ?? false
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
            // Events are ordered by it: a clock that went back must not put them before earlier ones.
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
        do {
            return try stream("looking for restores") { db in
                try Int64.fetchOne(db, sql: "SELECT max(noticed_at) FROM trueup_restores")
                    .map(Timestamp.init(unixMilliseconds:))
            }
        } catch {
            throw StoreError(error, doing: "looking for restores")
        }
    }

    /// Whether all entries of a range only declare breaks.
    package func isDeclaration(
        ofEntry first: Int64, through last: Int64
    ) throws(StoreError) -> Bool {
        do {
            return try stream("looking for declarations") { db in
                try Bool.fetchOne(
                    db,
                    sql: """
                        SELECT NOT EXISTS (SELECT 1 FROM trueup_ledger
                            WHERE entry BETWEEN ? AND ? AND target_table <> ?)
                        """,
                    arguments: [first, last, ChangeSet.Table.ledger.rawValue]) ?? false
            }
        } catch {
            throw StoreError(error, doing: "looking for declarations")
        }
    }

    private static func declaration(of lost: LedgerBreak, _ db: Database) throws -> LedgerEntry? {
        try Row.fetchOne(
            db,
            sql: """
                SELECT \(LedgerEntry.columns) FROM trueup_ledger AS l
                WHERE l.target_table = ? AND l.changes = ?
                """,
            arguments: [ChangeSet.Table.ledger.rawValue, FieldValueText.encode(lost.changes)]
        ).map { try LedgerEntry($0) }
    }
}

extension SQLiteStore {
    /// Why there is nothing to render of a name that is a declared restore's and no run's; `nil` for any
    /// other name.
    static func declaration(
        reportedAs runID: String, _ db: Database
    ) throws -> String? {
        let declared = try Row.fetchOne(
            db,
            sql: """
                SELECT entry, reason, written_at FROM trueup_ledger
                WHERE run_id = ? AND target_table = ? ORDER BY entry LIMIT 1
                """, arguments: [runID, ChangeSet.Table.ledger.rawValue])
        guard let declared, let written = declared.time(at: 2) else { return nil }
        return
            "\(runID) is no run: by it `trueup restored` declared at \(written.rfc3339) that the "
            + "database was restored (\(declared.requiredText(at: 1))). It looked at no row, so there "
            + "is nothing to render again. The declaration is entry "
            + "\(declared.integer(at: 0) ?? 0) of the ledger, and stands in its report folder, which "
            + "`trueup verify` checks."
    }
}
