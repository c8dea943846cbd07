import Foundation
import GRDB
import Reconciliation
package import Subscriptions

/// The ledger of the books next to the one in the company's database.
extension SQLiteStore {
    private static let entriesPerPage = 100
    private static let readingTheEnd = "reading the ledger's end"

    /// Returns what the ledger next to the company's table lacks of trueup's database, with what to
    /// do; it only reads.
    ///
    /// - Parameter company: The table that the rows here are a copy of.
    /// - Returns: `nil` where its ledger has the newest entry that both must have, or continues
    ///   behind it: then its loss was declared, and these books were put back to before that.
    /// - Throws: `StoreError` when one of the two cannot be read.
    package func gap(inLedgerOf company: CompanyLink) async throws(StoreError) -> String? {
        guard let newest = try await read(Self.readingTheEnd, Self.newestMapped) else { return nil }
        let standing = try await entries(of: company, after: newest.number &- 1, limit: 1).first
        guard standing?.number != newest.number || standing?.digest != newest.hash,
            (standing?.number ?? 0) <= newest.number
        else { return nil }
        return "The ledger next to your table \(company.mapping.table) lacks entry "
            + "\(newest.number), which trueup's database has: your database was restored to an earlier "
            + "state. Nothing was written. Compare the rows with the reports, then declare it with "
            + "`trueup restored --reason TEXT` (\(DocumentationPage.database))."
    }

    /// Where the ledger next to the company's table continues behind these books; it only looks.
    ///
    /// - Parameter company: The table that the rows here are a copy of.
    /// - Returns: The first entry that the next run adopts; `nil` where the books have all.
    /// - Throws: `.schema` where it does not continue the books, so that no run would take it over.
    package func entryToAdopt(from company: CompanyLink) async throws(StoreError) -> Int64? {
        let (after, head) = try await read(Self.readingTheEnd) { db in
            let head = try Ledger(db: db).head()
            return (try Self.newestMapped(db)?.number ?? head.number, head)
        }
        guard let next = try await entries(of: company, after: after, limit: 1).first else {
            return nil
        }
        // What comes before it and is not there, a run takes from the reports.
        guard next.number == head.number &+ 1 else { return head.number &+ 1 }
        try StoreError.translating("reading the ledger next to \(company.mapping.table)") {
            try EntryAdoption.refuse(next.ledgerEntry(), behind: head, of: company.mapping)
        }
        return next.number
    }

    /// Imports what a killed run committed there and not here.
    ///
    /// - Parameters:
    ///   - company: The table with the ledger.
    ///   - shown: The line of an entry as a report shows it. Where the ledger there lacks entries
    ///     that a declared restore lost, and the books were put back to before that, those come
    ///     from the reports: the next entry there proves them by their hash.
    /// - Throws: `.schema` where the company's database lacks an entry that the books have.
    func adoptEntries(
        from company: CompanyLink, filling shown: (Int64) -> String?
    ) async throws(StoreError) {
        if let gap = try await gap(inLedgerOf: company) { throw .schema(gap) }
        var after = try await read(Self.readingTheEnd) { db in
            try Self.newestMapped(db)?.number ?? Ledger(db: db).head().number
        }
        while let first = try await entries(of: company, after: after).first {
            let head = try ledgerHead().number
            if first.number > head &+ 1 {
                let last = min(first.number &- 1, head &+ Int64(Self.entriesPerPage))
                try await adoptEntries(
                    try Self.lines((head &+ 1)...last, shown, of: company), of: company)
                continue
            }
            var page = try await entries(of: company, after: after)
            for (index, entry) in page.enumerated().dropFirst()
            where entry.number != page[index - 1].number &+ 1 {
                page.removeSubrange(index...)
                break
            }
            try await adoptEntries(page, of: company)
            after = page.last?.number ?? after
        }
    }

    private func adoptEntries(
        _ entries: [CompanyLedgerEntry], of company: CompanyLink
    ) async throws(StoreError) {
        try await write("importing corrections of a run that was killed") {
            [naming, catalogue] db in
            let adoption = EntryAdoption(
                db: db, mapping: company.mapping, naming: naming, catalogue: catalogue)
            for entry in entries { try adoption.take(entry.ledgerEntry()) }
        }
    }

    private func entries(
        of company: CompanyLink, after number: Int64, limit: Int = SQLiteStore.entriesPerPage
    ) async throws(StoreError) -> [CompanyLedgerEntry] {
        try await blocking { () throws(StoreError) in
            try company.database.entries(after: number, limit: limit)
        }
    }

    /// The entries that the reports show.
    private static func lines(
        _ numbers: ClosedRange<Int64>, _ shown: (Int64) -> String?, of company: CompanyLink
    ) throws(StoreError) -> [CompanyLedgerEntry] {
        var entries: [CompanyLedgerEntry] = []
        for number in numbers {
            guard let line = shown(number), let entry = CompanyLedgerEntry(line: line) else {
                throw .schema(
                    "The ledger next to \(company.mapping.table) and trueup's database both lack entry "
                        + "\(number), and no report shows it. Nothing was written. Put the reports "
                        + "back, or restore the newest copy of trueup's database that you have, and "
                        + "give the same command again.")
            }
            entries.append(entry)
        }
        return entries
    }

    /// Whether the ledger next to the company's table continues behind these books.
    package func isContinuedByCompany() async throws(StoreError) -> Bool {
        guard let company, try copyState() != nil else { return false }
        let head = try ledgerHead().number
        return try await !entries(of: company, after: head).isEmpty
    }

    /// Declares that these books take the place of lost ones, whose ledger is next to the table.
    ///
    /// - Parameters:
    ///   - reason: The reason, as the ledger keeps it.
    ///   - actor: Who declares it.
    ///   - now: When.
    /// - Returns: Where the lost books were; `nil` where the ledger is not that of others.
    /// - Throws: `StoreError` when it cannot be read or written.
    package func adoptCompanyLedger(
        reason: String, by actor: String, at now: Timestamp
    ) async throws(StoreError) -> String? {
        guard let company else { return nil }
        return try await blocking { () throws(StoreError) in
            try company.database.adoptLedger(reason: reason, by: actor, at: now)
        }
    }

    /// Declares that the company's database was restored behind the books, so that runs continue:
    /// its rows are checked as they are, each one again.
    ///
    /// - Parameters:
    ///   - reason: The reason, as the ledger keeps it.
    ///   - actor: Who declares it.
    ///   - now: When.
    /// - Returns: The entries that its ledger lacks; `nil` where it lacks none.
    /// - Throws: `StoreError` when one of the two cannot be read or written.
    package func declareCompanyRestored(
        reason: String, by actor: String, at now: Timestamp
    ) async throws(StoreError) -> ClosedRange<Int64>? {
        guard let company, try copyState() != nil else { return nil }
        guard let newest = try await read(Self.readingTheEnd, Self.newestMapped),
            let kept = try await lastShared(with: company, before: newest.number),
            kept < newest.number
        else { return nil }
        try await lookAtEveryRowAgain(afterLossOf: newest.hash, at: now)
        try await write("declaring that the company's table was restored") { db in
            try db.execute(
                sql: "INSERT INTO trueup_company_restores VALUES (?, ?, ?, ?, ?)",
                arguments: [kept, newest.number, reason, actor, now.unixMilliseconds])
            try db.execute(
                sql: "UPDATE trueup_company SET first_entry = ?", arguments: [newest.number])
        }
        return (kept &+ 1)...newest.number
    }

    /// The last entry that both ledgers have alike.
    private func lastShared(
        with company: CompanyLink, before newest: Int64
    ) async throws(StoreError) -> Int64? {
        var shared = try await read("reading where trueup's database begins") { db in
            try db.integer("SELECT first_entry FROM trueup_company") ?? 0
        }
        while shared < newest {
            let page = try await entries(of: company, after: shared)
            guard !page.isEmpty else { return shared }
            for entry in page {
                guard try ledgerHash(ofEntry: entry.number) == entry.digest else { return shared }
                shared = entry.number
            }
        }
        return shared
    }

    /// The newest entry that must be in the company's ledger as well: about a row, since the books
    /// are those of this table, and not before a loss that was declared.
    private static func newestMapped(_ db: Database) throws -> (number: Int64, hash: String)? {
        let row = try db.row(
            """
            SELECT entry, hash FROM trueup_ledger
            WHERE target_table IN (?1, ?2) AND entry > (SELECT first_entry FROM trueup_company)
                AND entry > ifnull(
                    (SELECT max(entry) FROM trueup_ledger WHERE target_table = ?3), 0)
            ORDER BY entry DESC LIMIT 1
            """,
            [
                ChangeSet.Table.subscriptions.rawValue, ChangeSet.Table.purchases.rawValue,
                ChangeSet.Table.ledger.rawValue,
            ])
        return row.map { (number: $0.integer(at: 0) ?? 0, hash: $0.requiredText(at: 1)) }
    }
}

/// An unreported entry with what the reports show of it.
package struct RecoveredEntry: Hashable, Sendable {
    package var entry: LedgerEntry
    /// The run whose published report shows it; `nil` where the next report is to show it.
    package var shownBy: String?
    package var payloads: [SignedPayload]
    package var tombstones: [EvidenceTombstone]

    package init(
        entry: LedgerEntry, shownBy: String?, payloads: [SignedPayload] = [],
        tombstones: [EvidenceTombstone] = []
    ) {
        self.entry = entry
        self.shownBy = shownBy
        self.payloads = payloads
        self.tombstones = tombstones
    }
}

/// Entries that were adopted into books that had been put back to an earlier state.
extension SQLiteStore {
    /// The reason on the tombstone of a payload that was lost, not erased.
    package static let lostEvidence = EvidenceErasure.Reason.lost.rawValue

    /// Corrections that no report is known to show, in the order of the ledger.
    ///
    /// - Parameters:
    ///   - number: The last one that was checked; `nil` for none.
    ///   - limit: How many at most.
    /// - Returns: Fewer than `limit` only at the end of the ledger. `lacking` is the evidence that the
    ///   entry rests on and trueup's database has neither as a payload nor as a tombstone: it was
    ///   restored to a state before the entry was written.
    /// - Throws: `StoreError` when the books cannot be read.
    package func unreportedEntries(
        after number: Int64?, limit: Int
    ) async throws(StoreError) -> [(entry: LedgerEntry, lacking: [EvidenceDigest])] {
        try await read("looking for corrections that no report shows") { db in
            let vault = EvidenceVault(db: db)
            let first = try number ?? ReportedEntries(db: db).last()
            return try db.rows(
                """
                SELECT \(LedgerEntry.columns) FROM trueup_ledger AS l
                WHERE l.entry > ? AND l.target_table <> ? ORDER BY l.entry LIMIT ?
                """, [first, ChangeSet.Table.ledger.rawValue, limit]
            ).map { row in
                let entry = try LedgerEntry(row)
                let lacking = try [entry.evidence, entry.evidenceRenewal].compactMap(\.self)
                    .filter { try vault.payload($0) == nil && vault.tombstone($0) == nil }
                return (entry, lacking)
            }
        }
    }

    /// Keeps what was recovered of entries, and which of them were reported.
    ///
    /// - Parameter entries: In the order of the ledger.
    /// - Throws: `StoreError` when the books cannot be written.
    package func keep(_ entries: [RecoveredEntry]) async throws(StoreError) {
        try await write("keeping what reports show of corrections") { db in
            let vault = EvidenceVault(db: db)
            for recovered in entries {
                let key = recovered.entry.subscription
                for payload in recovered.payloads {
                    try vault.store(payload, of: (key.bundleID, key.environment))
                }
                for tombstone in recovered.tombstones {
                    try vault.insertTombstone(
                        tombstone.digest.hexadecimal, at: tombstone.erasedAt,
                        because: tombstone.reason)
                }
                guard let runID = recovered.shownBy else { continue }
                try ReportedEntries(db: db).noteShown(recovered.entry.number, byRun: runID)
            }
        }
    }

    /// Notes that reports show the declared breaks that were adopted.
    ///
    /// - Throws: `StoreError` when the books cannot be written.
    package func noteDeclarationsShown() async throws(StoreError) {
        try await write("noting which entries reports show") { db in
            let declared = try db.rows(
                """
                SELECT l.entry, l.run_id FROM trueup_ledger AS l
                WHERE l.target_table = ? AND NOT EXISTS (
                    SELECT 1 FROM trueup_reported_ranges AS s
                    WHERE l.entry BETWEEN s.first_entry AND s.last_entry)
                """, [ChangeSet.Table.ledger.rawValue])
            for row in declared {
                guard let entry = row.integer(at: 0) else { continue }
                try ReportedEntries(db: db).noteShown(entry, byRun: row.requiredText(at: 1))
            }
        }
    }

    /// Imports what the ledger next to the company's table has and the books lack.
    ///
    /// - Parameter shown: The line of an entry as a report shows it, for entries that the ledger
    ///   there lacks because it was restored itself.
    /// - Returns: The entries; `nil` for none, and without such a table.
    /// - Throws: `.schema` where it is the company's database that lacks entries.
    package func adoptCompanyEntries(
        filling shown: (Int64) -> String?
    ) async throws(StoreError) -> ClosedRange<Int64>? {
        guard let company else { return nil }
        _ = try await beginRefresh(of: company)
        let before = try ledgerHead().number
        try await adoptEntries(from: company, filling: shown)
        let now = try ledgerHead().number
        return now > before ? (before &+ 1)...now : nil
    }
}
