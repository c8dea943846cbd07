import GRDB
package import Subscriptions

/// An entry of the ledger that the books have not noted as shown by a report.
package struct UnreportedEntry: Hashable, Sendable {
    package var entry: LedgerEntry
    /// What it rests on and the books have neither as a payload nor as a tombstone: they were put
    /// back to a state before it was written.
    package var lacking: [EvidenceDigest]
}

/// What is known of such an entry from elsewhere.
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

/// Entries that were taken over into books that had been put back to an earlier state.
extension SQLiteStore {
    /// Why a payload is a tombstone that nobody erased.
    package static let lostEvidence = EvidenceErasure.Reason.lost.rawValue

    /// Corrections that no report is known to show, in the order of the ledger.
    ///
    /// - Parameters:
    ///   - number: The last one that was looked at; `nil` for none.
    ///   - limit: How many at most.
    /// - Returns: Fewer than `limit` only at the end of the ledger.
    /// - Throws: `StoreError` when the books cannot be read.
    package func unreportedEntries(
        after number: Int64?, limit: Int
    ) async throws(StoreError) -> [UnreportedEntry] {
        try await read("looking for corrections that no report shows") { db in
            let vault = EvidenceVault(db: db)
            let first = try number ?? ReportedEntries(db: db).last()
            return try Row.fetchAll(
                db,
                sql: """
                    SELECT \(LedgerEntry.columns) FROM trueup_ledger AS l
                    WHERE l.entry > ? AND l.target_table <> ? ORDER BY l.entry LIMIT ?
                    """,
                arguments: [first, ChangeSet.Table.ledger.rawValue, limit]
            ).map { row in
                let entry = try LedgerEntry(row)
                let lacking = try [entry.evidence, entry.evidenceRenewal].compactMap(\.self)
                    .filter { try vault.payload($0) == nil && vault.tombstone($0) == nil }
                return UnreportedEntry(entry: entry, lacking: lacking)
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
                    try vault.bury(
                        tombstone.digest.hexadecimal, at: tombstone.erasedAt,
                        because: tombstone.reason)
                }
                guard let runID = recovered.shownBy else { continue }
                try ReportedEntries(db: db).noteShown(recovered.entry.number, byRun: runID)
            }
        }
    }

    /// Notes that reports show the declared breaks that were taken over.
    ///
    /// - Throws: `StoreError` when the books cannot be written.
    package func noteDeclarationsShown() async throws(StoreError) {
        try await write("noting which entries reports show") { db in
            let declared = try Row.fetchAll(
                db,
                sql: """
                    SELECT l.entry, l.run_id FROM trueup_ledger AS l
                    WHERE l.target_table = ? AND NOT EXISTS (
                        SELECT 1 FROM trueup_reported_ranges AS s
                        WHERE l.entry BETWEEN s.first_entry AND s.last_entry)
                    """, arguments: [ChangeSet.Table.ledger.rawValue])
            for row in declared {
                guard let entry = row.integer(at: 0) else { continue }
                try ReportedEntries(db: db).noteShown(entry, byRun: row.requiredText(at: 1))
            }
        }
    }

    /// Takes over what the ledger beside the company's table has and the books lack.
    ///
    /// - Parameter shown: The line of an entry as a report shows it, for entries that the ledger there
    ///   lacks because it was restored itself.
    /// - Returns: The entries; `nil` for none, and without such a table.
    /// - Throws: `.schema` where it is the company's database that lacks entries.
    package func takeOverCompanyEntries(
        filling shown: (Int64) -> String?
    ) async throws(StoreError) -> ClosedRange<Int64>? {
        guard let company else { return nil }
        _ = try await beginRefresh(of: company)
        let before = try ledgerHead().number
        try await takeOver(from: company, filling: shown)
        let now = try ledgerHead().number
        return now > before ? (before &+ 1)...now : nil
    }
}
