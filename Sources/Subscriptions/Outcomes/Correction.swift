/// A change that the core wants, not yet made.
package struct PlannedCorrection: Hashable, Sendable {
    package enum Target: Hashable, Sendable {
        /// Update the row if it still has this version.
        case update(SubscriptionKey, expectedRowVersion: Int64)
        /// Insert a row that is still absent.
        case insert(SubscriptionKey)
        /// Insert a period that is still absent.
        case insertPeriod(TransactionKey, of: SubscriptionKey)
    }

    package var target: Target
    /// Column name → before and after; only columns that change.
    ///
    /// `before` is null for inserts.
    package var changes: [String: FieldChange]
    /// What it mends; empty when it only fills in a row that was not known yet.
    package var kinds: [FindingKind]
    package var evidence: EvidenceDigest
    /// `nil` where no renewal info is involved (periods).
    package var evidenceRenewal: EvidenceDigest?
    package var appleSignedDate: Timestamp
    /// One sentence for the ledger.
    package var reason: String

    package init(
        target: Target, changes: [String: FieldChange], kinds: [FindingKind],
        evidence: EvidenceDigest, evidenceRenewal: EvidenceDigest?, appleSignedDate: Timestamp,
        reason: String
    ) {
        self.target = target
        self.changes = changes
        self.kinds = kinds
        self.evidence = evidence
        self.evidenceRenewal = evidenceRenewal
        self.appleSignedDate = appleSignedDate
        self.reason = reason
    }

    /// `subscriptions` or `transactions`.
    package var table: String {
        switch target {
        case .update, .insert: "subscriptions"
        case .insertPeriod: "transactions"
        }
    }

    /// The subscription that it belongs to.
    package var subscription: SubscriptionKey {
        switch target {
        case .update(let key, _), .insert(let key), .insertPeriod(_, of: let key): key
        }
    }
}

/// The value of one column before and after a correction.
package struct FieldChange: Hashable, Sendable {
    package var before: FieldValue
    package var after: FieldValue

    package init(before: FieldValue, after: FieldValue) {
        self.before = before
        self.after = after
    }
}

/// How a planned correction ended.
package enum CorrectionFate: String, Hashable, Sendable, CaseIterable {
    case planned, applied
    /// The row moved since it was read: nothing was written to it.
    case stale
    /// The database refused the write (a trigger or constraint of the company's); rolled back.
    case rejected
}
