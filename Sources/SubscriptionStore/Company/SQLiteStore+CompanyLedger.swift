import GRDB
package import Subscriptions

/// The ledger of the books beside the one in the company's database.
extension SQLiteStore {
    private static let entriesPerPage = 100

    /// What the ledger beside the company's table lacks of these books, with what to do; it only
    /// looks.
    ///
    /// - Parameter company: The table that the rows here are a copy of.
    /// - Returns: `nil` where its ledger has the newest entry that both must have, or goes on behind it:
    ///   then its loss was declared, and these books were put back to before that.
    /// - Throws: `StoreError` when one of the two cannot be read.
    package func gap(inLedgerOf company: CompanyLink) async throws(StoreError) -> String? {
        let newest = try await read("reading the ledger's end") { db in
            try Self.newestMapped(db)
        }
        guard let newest else { return nil }
        let standing = try await blocking { () throws(StoreError) in
            try company.database.entries(after: newest.number &- 1, limit: 1)
        }.first
        guard standing?.number != newest.number || standing?.digest != newest.hash,
            (standing?.number ?? 0) <= newest.number
        else { return nil }
        return "The ledger beside your table \(company.mapping.table) lacks entry "
            + "\(newest.number), which the books have: your database was restored to an earlier "
            + "state. Nothing was written. Compare the rows with the reports, then declare it with "
            + "`trueup restored --reason TEXT` (docs/database.md)."
    }

    /// Where the ledger beside the company's table goes on behind these books; it only looks.
    ///
    /// - Parameter company: The table that the rows here are a copy of.
    /// - Returns: The first entry that the next run takes over; `nil` where the books have all.
    /// - Throws: `.schema` where it does not continue the books, so that no run would take it over.
    package func entryToTakeOver(from company: CompanyLink) async throws(StoreError) -> Int64? {
        let (after, head) = try await read("reading the ledger's end") { db in
            let head = try Ledger(db: db).head()
            return (try Self.newestMapped(db)?.number ?? head.number, head)
        }
        let next = try await blocking { () throws(StoreError) in
            try company.database.entries(after: after, limit: 1)
        }.first
        guard let next else { return nil }
        // What comes before it and is not there, a run takes from the reports.
        guard next.number == head.number &+ 1 else { return head.number &+ 1 }
        do {
            try EntryTakeOver.refuse(next.ledgerEntry(), behind: head, of: company.mapping)
        } catch {
            throw StoreError(error, doing: "reading the ledger beside \(company.mapping.table)")
        }
        return next.number
    }

    /// Takes over what a killed run committed there and not here.
    ///
    /// - Parameters:
    ///   - company: The table with the ledger.
    ///   - shown: The line of an entry as a report shows it. Where the ledger there lacks entries that
    ///     a declared restore lost, and the books were put back to before that, those come from the
    ///     reports: the next entry there proves them by their hash.
    /// - Throws: `.schema` where the company's database lacks an entry that the books have.
    func takeOver(
        from company: CompanyLink, filling shown: (Int64) -> String?
    ) async throws(StoreError) {
        if let gap = try await gap(inLedgerOf: company) { throw .schema(gap) }
        var after = try await read("reading the ledger's end") { db in
            try Self.newestMapped(db)?.number ?? Ledger(db: db).head().number
        }
        while let first = try await entries(of: company, after: after).first {
            let head = try ledgerHead().number
            if first.number > head &+ 1 {
                let last = min(first.number &- 1, head &+ Int64(Self.entriesPerPage))
                try await takeOver(
                    try Self.lines((head &+ 1)...last, shown, of: company), of: company)
                continue
            }
            var page = try await entries(of: company, after: after)
            for (index, entry) in page.enumerated().dropFirst()
            where entry.number != page[index - 1].number &+ 1 {
                page.removeSubrange(index...)
                break
            }
            try await takeOver(page, of: company)
            after = page.last?.number ?? after
        }
    }

    private func takeOver(
        _ entries: [CompanyLedgerEntry], of company: CompanyLink
    ) async throws(StoreError) {
        try await write("taking over corrections of a run that was killed") { [naming] db in
            let takeOver = EntryTakeOver(db: db, mapping: company.mapping, naming: naming)
            for entry in entries { try takeOver.take(entry.ledgerEntry()) }
        }
    }

    private func entries(
        of company: CompanyLink, after number: Int64
    ) async throws(StoreError) -> [CompanyLedgerEntry] {
        try await blocking { () throws(StoreError) in
            try company.database.entries(after: number, limit: Self.entriesPerPage)
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
                    "The ledger beside \(company.mapping.table) and the books both lack entry "
                        + "\(number) of the ledger, and no report shows it. Nothing was written. Put "
                        + "the reports back, or the newest books that you have, and give the same "
                        + "command again.")
            }
            entries.append(entry)
        }
        return entries
    }

    /// Whether the ledger beside the company's table goes on behind these books.
    package func isContinuedByCompany() async throws(StoreError) -> Bool {
        guard let company, try copyState() != nil else { return false }
        let head = try ledgerHead().number
        return try await !entries(of: company, after: head).isEmpty
    }

    /// Declares that these books take the place of lost ones, whose ledger stands beside the table.
    ///
    /// - Parameters:
    ///   - reason: Why, for whoever asks later.
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

    /// Declares that the company's database was restored behind the books, so that runs go on: its
    /// rows are judged as they stand, each one again.
    ///
    /// - Parameters:
    ///   - reason: Why, for whoever asks later.
    ///   - actor: Who declares it.
    ///   - now: When.
    /// - Returns: The entries that its ledger lacks; `nil` where it lacks none.
    /// - Throws: `StoreError` when one of the two cannot be read or written.
    package func declareCompanyRestored(
        reason: String, by actor: String, at now: Timestamp
    ) async throws(StoreError) -> ClosedRange<Int64>? {
        guard let company, try copyState() != nil else { return nil }
        let newest = try await read("reading the ledger's end") { db in
            try Self.newestMapped(db)
        }
        guard let newest, let kept = try await lastShared(with: company, before: newest.number),
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
        var shared = try await read("reading where the books begin") { db in
            try Int64.fetchOne(db, sql: "SELECT first_entry FROM trueup_company") ?? 0
        }
        while shared < newest {
            let position = shared
            let page = try await blocking { () throws(StoreError) in
                try company.database.entries(after: position, limit: Self.entriesPerPage)
            }
            guard !page.isEmpty else { return shared }
            for entry in page {
                guard try ledgerHash(ofEntry: entry.number) == entry.digest else { return shared }
                shared = entry.number
            }
        }
        return shared
    }

    /// The newest entry that must stand in the company's ledger, too: about a row, since the books
    /// are those of this table, and not before a loss that was declared.
    private static func newestMapped(_ db: Database) throws -> (number: Int64, hash: String)? {
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT entry, hash FROM trueup_ledger
                WHERE target_table = ?1 AND entry > (SELECT first_entry FROM trueup_company)
                    AND entry > ifnull(
                        (SELECT max(entry) FROM trueup_ledger WHERE target_table = ?2), 0)
                ORDER BY entry DESC LIMIT 1
                """,
            arguments: [
                ChangeSet.Table.subscriptions.rawValue, ChangeSet.Table.ledger.rawValue,
            ])
        return row.map { (number: $0.integer(at: 0) ?? 0, hash: $0.requiredText(at: 1)) }
    }
}
