/// One written correction, as it stands in the ledger and in `corrections.jsonl`.
package struct LedgerEntry: Hashable, Sendable {
    /// A number without gaps, from 1.
    package var number: Int64
    /// Hash of the entry before, or 64 zeros for the first.
    package var previousHash: String
    /// SHA-256 over the previous hash's text followed by `canonicalWithoutHash.rendered`.
    package var hash: String
    package var runID: String
    package var kinds: [FindingKind]
    package var subscription: SubscriptionKey
    /// Only for `transactions`.
    package var transactionID: String?
    package var changes: ChangeSet
    package var evidence: EvidenceDigest
    package var evidenceRenewal: EvidenceDigest?
    package var appleSignedDate: Timestamp
    package var writtenAt: Timestamp
    /// Who ran the job: `user@host`.
    package var actor: String
    /// The machine it ran on.
    ///
    /// This and the three below are `nil` in entries of versions that did not record them.
    package var host: String?
    package var action: RowAction?
    /// The identity of the plan under which it was written.
    package var plan: String?
    /// The row's version after the write; also `nil` for deletes and periods, which have none.
    package var rowVersion: Int64?
    package var reason: String
    /// The entry that this one reverts.
    package var undoOf: Int64?
    /// The customer's other subscription that was stored as entitling when this one's access was
    /// ended.
    package var accessContinuesBy: String?

    package static let firstPreviousHash = String(repeating: "0", count: 64)

    package init(
        number: Int64, previousHash: String, runID: String, correction: PlannedCorrection,
        writtenAt: Timestamp, actor: String
    ) {
        self.number = number
        self.previousHash = previousHash
        self.hash = ""
        self.runID = runID
        self.kinds = correction.kinds
        self.subscription = correction.subscription
        self.transactionID = correction.transactionID
        self.undoOf = correction.undoOf
        self.changes = correction.changes
        self.evidence = correction.evidence
        self.evidenceRenewal = correction.evidenceRenewal
        self.appleSignedDate = correction.appleSignedDate
        self.writtenAt = writtenAt
        self.actor = actor
        self.reason = correction.reason
    }

    /// `subscriptions`, `transactions`, or `ledger` where it declares a break and changes no row.
    package var table: String { changes.table.rawValue }

    /// The canonical object that the hash covers: every member but `ledger_hash`.
    package var canonicalWithoutHash: CanonicalJSON { .object(members) }

    /// The canonical object as it stands in `corrections.jsonl`.
    package var canonical: CanonicalJSON {
        .object(members.merging(["ledger_hash": .string(hash)]) { _, new in new })
    }

    /// Members that an entry lacks are left out, so that the hashes of older entries stay valid.
    private var members: [String: CanonicalJSON] {
        var members = requiredMembers
        if let host { members["host"] = .string(host) }
        if let action { members["action"] = .string(action.rawValue) }
        if let plan { members["plan"] = .string(plan) }
        if let rowVersion { members["row_version"] = .integer(rowVersion) }
        if let accessContinuesBy { members["access_continues_by"] = .string(accessContinuesBy) }
        return members
    }

    private var requiredMembers: [String: CanonicalJSON] {
        [
            "ledger_entry": .integer(number),
            "ledger_previous": .string(previousHash),
            "run_id": .string(runID),
            "kinds": .array(kinds.map { .string($0.rawValue) }),
            "table": .string(table),
            "app": .string(subscription.bundleID),
            "environment": .string(subscription.environment),
            "original_transaction_id": .string(subscription.originalTransactionID),
            "transaction_id": .text(transactionID),
            "before": .object(changes.before.mapValues(\.json)),
            "after": .object(changes.after.mapValues(\.json)),
            "evidence": .string(evidence.hexadecimal),
            "evidence_renewal": .text(evidenceRenewal?.hexadecimal),
            "apple_signed_date": .time(appleSignedDate),
            "written_at": .time(writtenAt),
            "actor": .string(actor),
            "reason": .string(reason),
            "undo_of": undoOf.map(CanonicalJSON.integer) ?? .null,
        ]
    }
}

extension LedgerEntry {
    /// What was done to the row.
    ///
    /// Entries of early versions do not state it. Those versions deleted nothing, only inserted
    /// periods, and inserted a subscription only where it was missing.
    package var rowAction: RowAction {
        action
            ?? (changes.table == .transactions || kinds.contains(.missingLocally)
                ? .insert : .update)
    }
}
