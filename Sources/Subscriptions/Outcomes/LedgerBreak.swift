/// A loss of ledger entries: the database was restored from a backup, or rebuilt.
package struct LedgerBreak: Hashable, Sendable {
    /// The last entry that is left; 0 and 64 zeros for a rebuilt database.
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

    /// A sentence that names the lost entries.
    package var sentence: String {
        guard let lostEntry else { return "The ledger went back to entry \(keptEntry)." }
        guard lostEntry > keptEntry else {
            return "Entries of the ledger up to \(lostEntry) were lost, which followed an older "
                + "backup."
        }
        let first = keptEntry &+ 1
        return first == lostEntry
            ? "Entry \(lostEntry) of the ledger was lost."
            : "Entries \(first) to \(lostEntry) of the ledger were lost."
    }

    /// The changes that the declaring ledger entry states.
    package var changes: ChangeSet {
        .ledger([
            .entry: FieldChange(
                before: lostEntry.map(FieldValue.integer) ?? .null, after: .integer(keptEntry)),
            .head: FieldChange(before: .text(lostHash), after: .text(keptHash)),
        ])
    }
}

extension LedgerEntry {
    /// An entry that declares a break.
    ///
    /// Its evidence is the manifest that proves the loss.
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
        host = run.host
    }
}
