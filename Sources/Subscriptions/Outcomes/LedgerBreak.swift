/// Where a ledger went back: its database was restored from a backup, or rebuilt.
package struct LedgerBreak: Hashable, Sendable {
    /// The entry after which it goes on; 0 and 64 zeros for a database that was rebuilt.
    package var keptEntry: Int64
    package var keptHash: String
    /// The last entry that was lost; `nil` where its number is not known.
    package var lostEntry: Int64?
    package var lostHash: String

    package init(keptEntry: Int64, keptHash: String, lostEntry: Int64?, lostHash: String) {
        self.keptEntry = keptEntry
        self.keptHash = keptHash
        self.lostEntry = lostEntry
        self.lostHash = lostHash
    }

    /// What was lost, for people.
    package var sentence: String {
        guard let lostEntry else { return "The ledger went back to entry \(keptEntry)." }
        let first = keptEntry &+ 1
        return first == lostEntry
            ? "Entry \(lostEntry) of the ledger was lost."
            : "Entries \(first) to \(lostEntry) of the ledger were lost."
    }

    /// The fields of the entry that declares it.
    package var changes: [String: FieldChange] {
        [
            "ledger_entry": FieldChange(
                before: lostEntry.map(FieldValue.integer) ?? .null, after: .integer(keptEntry)),
            "ledger_head": FieldChange(before: .text(lostHash), after: .text(keptHash)),
        ]
    }
}

extension LedgerEntry {
    /// The table of entries that change no row, but declare a break of the ledger.
    package static let declarationTable = "ledger"

    /// An entry that declares a break; its evidence is the manifest that proves what was lost.
    package init(
        number: Int64, previousHash: String, declaring lost: LedgerBreak, reason: String,
        manifest: String, run: RunHeader, at now: Timestamp
    ) {
        let nobody = SubscriptionKey(bundleID: "", environment: "", originalTransactionID: "")
        self.init(
            number: number, previousHash: previousHash, runID: run.runID,
            correction: PlannedCorrection(
                target: .insert(nobody), changes: lost.changes, kinds: [],
                evidence: EvidenceDigest(hexadecimal: manifest), evidenceRenewal: nil,
                appleSignedDate: now, reason: reason),
            writtenAt: now, actor: run.actor)
        table = Self.declarationTable
        host = run.host
    }
}
