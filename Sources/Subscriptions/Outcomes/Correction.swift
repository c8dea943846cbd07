/// A change that the core wants, not yet made.
package struct PlannedCorrection: Hashable, Sendable {
    package enum Target: Hashable, Sendable {
        /// Update the row if it still has this version.
        case update(SubscriptionKey, expectedRowVersion: Int64)
        /// Insert a row that is still absent.
        case insert(SubscriptionKey)
        /// Insert a period that is still absent.
        case insertPeriod(TransactionKey, of: SubscriptionKey)
        /// Fill in empty columns of a period, if they still are empty; or take that back.
        case updatePeriod(TransactionKey, of: SubscriptionKey)
        /// Delete a row that was inserted, if it still has this version; only to take it back.
        case delete(SubscriptionKey, expectedRowVersion: Int64)
        /// Delete a period that was inserted and still is as it was; only to take it back.
        case deletePeriod(TransactionKey, of: SubscriptionKey)
    }

    package var target: Target
    /// Column name → before and after; only columns that change.
    ///
    /// `before` is null for inserts, `after` for deletes.
    package var changes: [String: FieldChange]
    /// What it mends; empty when it only fills in what was not known yet.
    package var kinds: [FindingKind]
    package var evidence: EvidenceDigest
    /// `nil` where no renewal info is involved (periods).
    package var evidenceRenewal: EvidenceDigest?
    package var appleSignedDate: Timestamp
    /// One sentence for the ledger.
    package var reason: String
    /// By which rules it is planned; empty for what takes a correction back.
    package var rules: [AppliedRule]
    /// The ledger entry that it takes back.
    package var undoOf: Int64?
    /// What it ends, another subscription of the customer goes on giving: one of these original
    /// transaction ids must stand in the table as entitling before it is written.
    ///
    /// Empty where nothing else gives access, and for whatever ends none.
    package var continuedBy: [String] = []

    package init(
        target: Target, changes: [String: FieldChange], kinds: [FindingKind],
        evidence: EvidenceDigest, evidenceRenewal: EvidenceDigest?, appleSignedDate: Timestamp,
        reason: String, rules: [AppliedRule] = [], undoOf: Int64? = nil
    ) {
        self.target = target
        self.changes = changes
        self.kinds = kinds
        self.evidence = evidence
        self.evidenceRenewal = evidenceRenewal
        self.appleSignedDate = appleSignedDate
        self.reason = reason
        self.rules = rules
        self.undoOf = undoOf
    }

    /// `subscriptions` or `transactions`.
    package var table: String {
        switch target {
        case .update, .insert, .delete: "subscriptions"
        case .insertPeriod, .updatePeriod, .deletePeriod: "transactions"
        }
    }

    /// The subscription that it belongs to.
    package var subscription: SubscriptionKey {
        switch target {
        case .update(let key, _), .insert(let key), .insertPeriod(_, of: let key),
            .updatePeriod(_, of: let key), .delete(let key, _), .deletePeriod(_, of: let key):
            key
        }
    }

    /// The period that it is about.
    package var transactionID: String? {
        switch target {
        case .insertPeriod(let key, _), .updatePeriod(let key, _), .deletePeriod(let key, _):
            key.transactionID
        case .update, .insert, .delete: nil
        }
    }

    /// What is done to the row.
    package var action: RowAction {
        switch target {
        case .update, .updatePeriod: .update
        case .insert, .insertPeriod: .insert
        case .delete, .deletePeriod: .delete
        }
    }
}

/// What a correction does to its row.
package enum RowAction: String, Hashable, Sendable {
    case update, insert, delete
}

/// The value of one column before and after a correction.
package struct FieldChange: Hashable, Sendable {
    package var before: FieldValue
    package var after: FieldValue

    package init(before: FieldValue, after: FieldValue) {
        self.before = before
        self.after = after
    }

    /// What takes it back.
    package var inverse: FieldChange { FieldChange(before: after, after: before) }
}

/// How a planned correction ended.
package enum CorrectionFate: String, Hashable, Sendable, CaseIterable {
    case planned, applied
    /// The row moved since it was read: nothing was written to it.
    case stale
    /// The database refused the write (a trigger or constraint of the company's); rolled back.
    case rejected
    /// What Apple signed for it is no longer held: nothing is written without evidence.
    case unproven
    /// It ends access that another subscription gives, and that one is not in the table as
    /// entitling: nothing was written.
    case heldBack = "held_back"
}
