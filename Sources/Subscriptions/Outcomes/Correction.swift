/// A change of a row that the core has decided on; nothing is written yet.
package struct PlannedCorrection: Hashable, Sendable {
    package enum Target: Hashable, Sendable {
        /// Update the row if it still has this version.
        case update(SubscriptionKey, expectedRowVersion: Int64)
        /// Insert a row that is still absent.
        case insert(SubscriptionKey)
        /// Insert a period or purchase that is still absent. Which of the two the changes tell.
        case insertPeriod(TransactionKey, of: SubscriptionKey)
        /// Change columns of a period or purchase, if they still are as they were read.
        case updatePeriod(TransactionKey, of: SubscriptionKey)
        /// Revert an insert: delete the row if it still has this version.
        case delete(SubscriptionKey, expectedRowVersion: Int64)
        /// Revert the insert of a period or purchase: delete it if it is unchanged.
        case deletePeriod(TransactionKey, of: SubscriptionKey)
    }

    package var target: Target
    /// Only columns that change: `before` is null for inserts, `after` for deletes.
    package var changes: ChangeSet
    /// The kinds of findings that it corrects; empty when it only fills in unknown values.
    package var kinds: [FindingKind]
    package var evidence: EvidenceDigest
    /// `nil` where no renewal info is involved (periods).
    package var evidenceRenewal: EvidenceDigest?
    package var appleSignedDate: Timestamp
    /// One sentence for the ledger.
    package var reason: String
    /// The rules that ask for it; empty for what reverts a correction.
    package var rules: [AppliedRule]
    /// The ledger entry that it reverts.
    package var undoOf: Int64?
    /// For a correction that ends access: the customer's other subscriptions that give access
    /// instead, by original transaction id.
    ///
    /// One of them must be stored as entitling before this is written. Empty where no other
    /// subscription gives access, and for corrections that end none.
    package var continuedBy: [String] = []
    /// When Apple signed the statement about the subscription by which the row was checked.
    ///
    /// A period has a signature of its own next to it. `nil` for what reverts a correction.
    package var restsOn: Timestamp?

    package init(
        target: Target, changes: ChangeSet, kinds: [FindingKind],
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

    /// `subscriptions`, `transactions` or `purchases`.
    package var table: String { changes.table.rawValue }

    /// The subscription that the changed row belongs to.
    package var subscription: SubscriptionKey {
        switch target {
        case .update(let key, _), .insert(let key), .insertPeriod(_, of: let key),
            .updatePeriod(_, of: let key), .delete(let key, _), .deletePeriod(_, of: let key):
            key
        }
    }

    /// The transaction id of the changed period; `nil` for a change of the subscription's row.
    package var transactionID: String? {
        switch target {
        case .insertPeriod(let key, _), .updatePeriod(let key, _), .deletePeriod(let key, _):
            key.transactionID
        case .update, .insert, .delete: nil
        }
    }

    package var action: RowAction {
        switch target {
        case .update, .updatePeriod: .update
        case .insert, .insertPeriod: .insert
        case .delete, .deletePeriod: .delete
        }
    }
}

/// The effect of a correction on its row.
package enum RowAction: String, Hashable, Sendable {
    case update, insert, delete
}

/// The outcome of a planned correction.
package enum CorrectionFate: String, Hashable, Sendable, CaseIterable {
    case planned, applied
    /// The row changed since it was read: nothing was written to it.
    case stale
    /// A trigger or constraint of the company's database refused the write; it was rolled back.
    case rejected
    /// Its signed evidence is no longer stored; nothing is written without evidence.
    case unproven
    /// It would end access, and the subscription that gives access instead is not stored as
    /// entitling: nothing was written.
    case heldBack = "held_back"
}

/// The name and version of a rule at the time when a plan was made.
package struct RuleVersion: Hashable, Sendable {
    /// The name of its file, such as `ExpiryRule`.
    package var name: String
    /// Raised whenever what the rule finds changes.
    package var version: Int

    package init(name: String, version: Int) {
        self.name = name
        self.version = version
    }
}

/// The reason why a correction is planned: the rule that asks for it, and the kind of finding it
/// corrects.
package struct AppliedRule: Hashable, Sendable {
    /// `nil` for filling in unknown values, which corrects no finding.
    package var kind: FindingKind?
    package var rule: RuleVersion

    package init(kind: FindingKind?, rule: RuleVersion) {
        self.kind = kind
        self.rule = rule
    }

    package var json: CanonicalJSON {
        .object([
            "kind": .text(kind?.rawValue), "rule": .string(rule.name),
            "version": .integer(Int64(rule.version)),
        ])
    }
}

extension PlannedCorrection {
    /// Whether the row gives access now and no longer does once this is written.
    package var endsAccess: Bool {
        guard let change = changes.ofSubscription[.status] else { return false }
        return change.before.isEntitlingStatus == true && change.after.isEntitlingStatus != true
    }

    /// Whether the row gives access once this is written.
    package var givesAccess: Bool {
        changes.ofSubscription[.status]?.after.isEntitlingStatus ?? false
    }
}

extension FieldValue {
    /// Whether this value of the column `status` gives access; `nil` when it is not a number.
    package var isEntitlingStatus: Bool? {
        guard case .integer(let number) = self, let number = Int(exactly: number) else {
            return nil
        }
        return SubscriptionStatus(rawValue: number).isEntitling
    }
}

/// The columns of one row that a correction changes, each with its value before and after.
///
/// A column that the table does not have cannot be named here, so it never becomes SQL either.
package enum ChangeSet: Hashable, Sendable {
    case subscription([SubscriptionField: FieldChange])
    case period([TransactionField: FieldChange])
    case purchase([TransactionField: FieldChange])
    /// A declared break of the ledger, which changes no row.
    case ledger([LedgerField: FieldChange])

    /// The names of the changed tables, as the ledger and the reports state them.
    package enum Table: String, Hashable, Sendable {
        case subscriptions, transactions, purchases, ledger
    }

    package var table: Table {
        switch self {
        case .subscription: .subscriptions
        case .period: .transactions
        case .purchase: .purchases
        case .ledger: .ledger
        }
    }

    /// The changes of a subscription's row; none for other tables.
    package var ofSubscription: [SubscriptionField: FieldChange] {
        if case .subscription(let changes) = self { changes } else { [:] }
    }

    /// The changes of a period; none for other tables.
    package var ofPeriod: [TransactionField: FieldChange] {
        if case .period(let changes) = self { changes } else { [:] }
    }

    /// Which table of transactions they change; periods where none.
    package var transactionTable: TransactionTable {
        if case .purchase = self { .purchases } else { .periods }
    }

    /// `period` or `purchase`, as people are told which transaction is changed.
    package var nameOfTransaction: String {
        transactionTable == .purchases ? "purchase" : "period"
    }

    /// The changes in the order of the columns' names.
    package var named: [(column: String, change: FieldChange)] {
        switch self {
        case .subscription(let changes): Self.named(changes, SubscriptionField.byName)
        case .period(let changes), .purchase(let changes):
            Self.named(changes, TransactionField.byName)
        case .ledger(let changes): Self.named(changes, LedgerField.byName)
        }
    }

    private static func named<Column: NamedColumn>(
        _ changes: [Column: FieldChange], _ columns: [(name: String, column: Column)]
    ) -> [(column: String, change: FieldChange)] {
        var named: [(column: String, change: FieldChange)] = []
        named.reserveCapacity(changes.count)
        for (name, column) in columns {
            guard let change = changes[column] else { continue }
            named.append((name, change))
        }
        return named
    }

    /// The value of each column before, by name.
    package var before: [String: FieldValue] {
        named.reduce(into: [:]) { $0[$1.column] = $1.change.before }
    }

    /// The value of each column afterwards, by name.
    package var after: [String: FieldValue] {
        named.reduce(into: [:]) { $0[$1.column] = $1.change.after }
    }

    /// The changes that revert these.
    package var inverse: ChangeSet {
        switch self {
        case .subscription(let changes): .subscription(changes.mapValues(\.inverse))
        case .period(let changes): .period(changes.mapValues(\.inverse))
        case .purchase(let changes): .purchase(changes.mapValues(\.inverse))
        case .ledger(let changes): .ledger(changes.mapValues(\.inverse))
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

    /// The change that reverts this one.
    package var inverse: FieldChange { FieldChange(before: after, after: before) }
}

/// The fields of an entry that declares a break of the ledger, in place of columns.
package enum LedgerField: String, NamedColumn {
    case entry = "ledger_entry"
    case head = "ledger_head"

    static let byName = columnsByName()
}

/// One written correction, as it is in the ledger and in `corrections.jsonl`.
package struct LedgerEntry: Hashable, Sendable {
    /// A number without gaps, from 1.
    package var number: Int64
    /// Hash of the entry before, or 64 zeros for the first.
    package var previousHash: String
    /// SHA-256 over the previous hash's text followed by `canonicalWithoutHash.rendered`.
    package var hash = ""
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
}

extension LedgerEntry {
    /// The action on the row.
    ///
    /// Entries of early versions do not state it. Those versions deleted nothing, only inserted
    /// periods, and inserted a subscription only where it was missing.
    package var rowAction: RowAction {
        action
            ?? (changes.table == .transactions || kinds.contains(.missingLocally)
                ? .insert : .update)
    }
}
