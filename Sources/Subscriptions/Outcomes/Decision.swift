/// A person's decision about a finding that cannot be corrected: an entry of the ledger of
/// decisions.
///
/// Entries are only appended, each with the hash of the one before it. The newest decision about a
/// finding counts.
package struct Decision: Hashable, Sendable {
    package enum Action: String, Hashable, Sendable, CaseIterable {
        case acknowledge, withdraw
    }

    /// From 1, without gaps.
    package var number: Int64
    package var previousHash: String
    package var hash = ""
    package var action: Action
    package var findingID: String
    /// The digest of the acknowledged finding: when its content changes, it counts again.
    package var content: String
    package var reason: String
    package var actor: String
    package var decidedAt: Timestamp
    /// When the finding counts again; `nil` for never.
    package var until: Timestamp?

    package init(
        number: Int64, previousHash: String, action: Action, findingID: String, content: String,
        reason: String, actor: String, decidedAt: Timestamp, until: Timestamp?
    ) {
        self.number = number
        self.previousHash = previousHash
        self.action = action
        self.findingID = findingID
        self.content = content
        self.reason = reason
        self.actor = actor
        self.decidedAt = decidedAt
        self.until = until
    }

    /// The text that the hash covers, together with the previous hash before it.
    package var canonicalWithoutHash: CanonicalJSON {
        .object([
            "action": .string(action.rawValue), "actor": .string(actor),
            "content": .string(content), "decided_at": .time(decidedAt),
            "decision": .integer(number), "finding_id": .string(findingID),
            "previous": .string(previousHash), "reason": .string(reason), "until": .time(until),
        ])
    }
}

/// An acknowledged finding.
package struct AcknowledgedFinding: Hashable, Sendable {
    package var findingID: String
    package var kind: FindingKind
    package var severity: Severity
    package var originalTransactionID: String?
    package var decision: Int64
    package var actor: String
    package var reason: String
    package var decidedAt: Timestamp
    package var until: Timestamp?

    package init(
        findingID: String, kind: FindingKind, severity: Severity, originalTransactionID: String?,
        decision: Int64, actor: String, reason: String, decidedAt: Timestamp, until: Timestamp?
    ) {
        self.findingID = findingID
        self.kind = kind
        self.severity = severity
        self.originalTransactionID = originalTransactionID
        self.decision = decision
        self.actor = actor
        self.reason = reason
        self.decidedAt = decidedAt
        self.until = until
    }
}

/// The findings that match an id, or the beginning of one, that a person typed.
package enum FindingLookup: Hashable, Sendable {
    case none
    case one(RememberedFinding)
    /// Some of the ids that begin with it.
    case several([String])
}

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
