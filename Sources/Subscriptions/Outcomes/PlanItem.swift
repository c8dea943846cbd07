extension PlannedCorrection {
    /// The bytes of `planMembers` in canonical JSON, with the outcome where one is given.
    ///
    /// - Parameter fate: What became of the correction.
    /// - Returns: One object, without a line feed.
    package func planItem(fate: CorrectionFate? = nil) -> [UInt8] {
        var item = CanonicalBytes()
        state(fate: fate, to: &item)
        return item.closed()
    }

    /// The members of a correction in a plan, without its outcome.
    package var planMembers: [String: CanonicalJSON] {
        var members: [String: CanonicalJSON] = [:]
        state(fate: nil, to: &members)
        return members
    }

    /// States the members: `rules`, `undo_of` and `access_continues_by` are left out when there are none.
    private func state(fate: CorrectionFate?, to item: inout some CanonicalMembers) {
        let named = changes.named
        if !continuedBy.isEmpty { item.add("access_continues_by", list: continuedBy) }
        item.add("action", action.rawValue)
        item.add("after", named) { $0.after }
        item.add("app", subscription.bundleID)
        item.add("apple_signed_date", appleSignedDate.rfc3339)
        item.add("before", named) { $0.before }
        item.add("environment", subscription.environment)
        item.add("evidence", evidence.hexadecimal)
        item.add("evidence_renewal", evidenceRenewal?.hexadecimal)
        item.add("expected_row_version", expectedRowVersion)
        if let fate { item.add("fate", fate.rawValue) }
        item.add("kinds", list: kinds.map(\.rawValue))
        item.add("original_transaction_id", subscription.originalTransactionID)
        item.add("reason", reason)
        if !rules.isEmpty { item.add("rules", .array(rules.map(\.json))) }
        item.add("table", table)
        item.add("transaction_id", transactionID)
        if let undoOf { item.add("undo_of", undoOf) }
    }

    /// The version that the row must have; `nil` where there is no row, or its versions do not
    /// count.
    private var expectedRowVersion: Int64? {
        switch target {
        case .update(_, let expected), .delete(_, let expected): expected
        case .insert, .insertPeriod, .updatePeriod, .deletePeriod: nil
        }
    }
}

extension LedgerEntry {
    /// The canonical object that the hash covers: every member but `ledger_hash`.
    package var canonicalWithoutHash: CanonicalJSON { canonical(hash: nil) }

    /// The canonical object as it is in `corrections.jsonl`.
    package var canonical: CanonicalJSON { canonical(hash: hash) }

    private func canonical(hash: String?) -> CanonicalJSON {
        var members: [String: CanonicalJSON] = [:]
        state(hash: hash, to: &members)
        return .object(members)
    }

    /// The bytes that the hash covers behind the previous one: those of `canonicalWithoutHash`.
    package var sealedBytes: [UInt8] { canonicalBytes(hash: nil) }

    /// The bytes of `canonical`, without a line feed.
    package var canonicalBytes: [UInt8] { canonicalBytes(hash: hash) }

    private func canonicalBytes(hash: String?) -> [UInt8] {
        var entry = CanonicalBytes()
        state(hash: hash, to: &entry)
        return entry.closed()
    }

    /// States the members: those that an entry lacks are left out, so that the hashes of older entries
    /// stay valid.
    private func state(hash: String?, to entry: inout some CanonicalMembers) {
        let named = changes.named
        if let accessContinuesBy { entry.add("access_continues_by", accessContinuesBy) }
        if let action { entry.add("action", action.rawValue) }
        entry.add("actor", actor)
        entry.add("after", named) { $0.after }
        entry.add("app", subscription.bundleID)
        entry.add("apple_signed_date", appleSignedDate.rfc3339)
        entry.add("before", named) { $0.before }
        entry.add("environment", subscription.environment)
        entry.add("evidence", evidence.hexadecimal)
        entry.add("evidence_renewal", evidenceRenewal?.hexadecimal)
        if let host { entry.add("host", host) }
        entry.add("kinds", list: kinds.map(\.rawValue))
        entry.add("ledger_entry", number)
        if let hash { entry.add("ledger_hash", hash) }
        entry.add("ledger_previous", previousHash)
        entry.add("original_transaction_id", subscription.originalTransactionID)
        if let plan { entry.add("plan", plan) }
        entry.add("reason", reason)
        if let rowVersion { entry.add("row_version", rowVersion) }
        entry.add("run_id", runID)
        entry.add("table", table)
        entry.add("transaction_id", transactionID)
        entry.add("undo_of", undoOf)
        entry.add("written_at", writtenAt.rfc3339)
    }

    /// The change that reverts the entry, in canonical JSON: `before` must be in the row now,
    /// `after` replaces it.
    package var inverseBytes: [UInt8] {
        let named = changes.named
        var item = CanonicalBytes()
        item.add("action", inverseAction.rawValue)
        item.add("after", named) { $0.before }
        item.add("app", subscription.bundleID)
        item.add("before", named) { $0.after }
        item.add("environment", subscription.environment)
        item.add("evidence", evidence.hexadecimal)
        item.add("evidence_renewal", evidenceRenewal?.hexadecimal)
        item.add("ledger_hash", hash)
        item.add("original_transaction_id", subscription.originalTransactionID)
        item.add("table", table)
        item.add("transaction_id", transactionID)
        item.add("undo_of", number)
        return item.closed()
    }

    private var inverseAction: RowAction {
        switch rowAction {
        case .update: .update
        case .insert: .delete
        case .delete: .insert
        }
    }
}

/// The members of a canonical JSON object, handed over in the order of their names' bytes.
private protocol CanonicalMembers {
    mutating func add(_ name: String, _ value: CanonicalJSON)
    /// Adds one side of changes that are in order.
    mutating func add(
        _ name: String, _ changes: [(column: String, change: FieldChange)],
        _ side: (FieldChange) -> FieldValue)
}

extension CanonicalMembers {
    fileprivate mutating func add(_ name: String, _ text: String?) { add(name, .text(text)) }

    fileprivate mutating func add(_ name: String, _ number: Int64?) {
        add(name, number.map(CanonicalJSON.integer) ?? .null)
    }

    fileprivate mutating func add(_ name: String, list: [String]) {
        add(name, .array(list.map(CanonicalJSON.string)))
    }
}

extension [String: CanonicalJSON]: CanonicalMembers {
    fileprivate mutating func add(_ name: String, _ value: CanonicalJSON) { self[name] = value }

    fileprivate mutating func add(
        _ name: String, _ changes: [(column: String, change: FieldChange)],
        _ side: (FieldChange) -> FieldValue
    ) {
        self[name] = .object(changes.reduce(into: [:]) { $0[$1.column] = side($1.change).json })
    }
}

/// The members as bytes.
///
/// A first fill writes each correction several times; here without a dictionary to build and sort.
private struct CanonicalBytes: CanonicalMembers {
    private var bytes: [UInt8] = []

    init() {
        bytes.reserveCapacity(2048)
        bytes.append(UInt8(ascii: "{"))
    }

    /// The whole object.
    consuming func closed() -> [UInt8] {
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    mutating func add(_ name: String, _ value: CanonicalJSON) {
        open(name)
        value.append(to: &bytes)
    }

    mutating func add(
        _ name: String, _ changes: [(column: String, change: FieldChange)],
        _ side: (FieldChange) -> FieldValue
    ) {
        open(name)
        bytes.append(UInt8(ascii: "{"))
        for (index, change) in changes.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            CanonicalJSON.append(quoted: change.column, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            side(change.change).json.append(to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
    }

    private mutating func open(_ name: String) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        CanonicalJSON.append(quoted: name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
    }
}

/// The identity of a run's plan, by which it is approved, applied and found in the ledger.
package struct PlanSeal: Hashable, Sendable {
    /// SHA-256, in lowercase hexadecimal, over `PlanHead.canonical` and the canonical text of each
    /// correction in the order of the report, every one of them followed by a line feed.
    ///
    /// The outcome of the corrections is not covered: a plan keeps its identity when it is applied.
    package var sha256: String
    package var head: PlanHead
    /// How many corrections it holds.
    package var changes: Int

    package init(sha256: String, head: PlanHead, changes: Int) {
        self.sha256 = sha256
        self.head = head
        self.changes = changes
    }
}

/// The part of a plan that says in which database, by which run and of what scope it was made.
package struct PlanHead: Hashable, Sendable {
    /// The identity of the database that it was made from.
    package var database: String
    /// The run that made it.
    package var plannedBy: String
    package var job: String
    /// Every filter of that run, in words.
    package var scope: [String]
    /// The job's file, and its guards when the plan was made.
    ///
    /// Not part of the identity: they are only read from the database.
    package var jobFile: String?
    package var guards: String?

    package init(database: String, plannedBy: String, job: String, scope: [String]) {
        self.database = database
        self.plannedBy = plannedBy
        self.job = job
        self.scope = scope
    }

    /// The members that the plan's identity covers.
    package var members: [String: CanonicalJSON] {
        [
            "database": .string(database), "job": .string(job), "planned_by": .string(plannedBy),
            "scope": scope.isEmpty ? .null : .array(scope.map(CanonicalJSON.string)),
        ]
    }

    package var canonical: CanonicalJSON { .object(members) }
}

/// A plan that is stored in the database.
package struct KnownPlan: Hashable, Sendable {
    package var seal: PlanSeal
    /// The run that applied all of it; `nil` while a part is still to be applied.
    package var appliedBy: String?
    package var appliedAt: Timestamp?
    /// Whether its corrections are past `retention`, so that nothing is left to apply.
    package var isPastRetention = false

    package init(seal: PlanSeal, appliedBy: String?, appliedAt: Timestamp?) {
        self.seal = seal
        self.appliedBy = appliedBy
        self.appliedAt = appliedAt
    }
}

/// A ledger entry, and whether it can be reverted.
package struct UndoItem: Hashable, Sendable {
    package enum Standing: Hashable, Sendable {
        /// The row is as the entry left it; this correction reverts it.
        case ready(PlannedCorrection)
        /// Reverted, last by this later entry, of this run.
        case done(entry: Int64, runID: String)
        case conflict(UndoConflict)
    }

    package var entry: LedgerEntry
    package var standing: Standing

    package init(entry: LedgerEntry, standing: Standing) {
        self.entry = entry
        self.standing = standing
    }
}

/// The reason why a correction cannot be reverted.
package enum UndoConflict: Hashable, Sendable, CustomStringConvertible {
    /// The row was deleted since then.
    case gone
    /// The correction deleted the row, and the row exists again.
    case there
    /// These columns no longer have the written values.
    case changed([String])
    /// Other columns of the row were written since then.
    case written(version: Int64, was: Int64)
    /// A later correction changed the row again.
    case corrected(entry: Int64, runID: String)
    /// The correction was reverted, and this run reverted that in turn.
    case broughtBack(runID: String)
    /// The correction was reverted, and Apple has signed a newer statement since then: to revert
    /// that would write the older one again.
    case outdated(newest: Timestamp)
    /// The company's own table does not allow it.
    case table(String)

    package var description: String {
        switch self {
        case .gone: "the row is gone"
        case .there: "there is such a row again"
        case .changed(let columns): "no longer as written: " + columns.joined(separator: ", ")
        case .written(let version, let was):
            "the row was written to since (version \(version), was \(was))"
        case .corrected(let entry, let runID):
            "corrected again by ledger entry \(entry); undo run \(runID) first"
        case .broughtBack(let runID):
            "reverted before, and brought back by run \(runID): trueup undo \(runID)"
        case .outdated(let newest):
            "Apple signed a newer statement at \(newest.rfc3339); the next run checks the row"
        case .table(let why): why
        }
    }
}

/// The counts of reverting a whole run.
package struct UndoCounts: Hashable, Sendable {
    package var ready = 0
    package var done = 0
    package var conflicts = 0
    /// The first conflicts, each with its subscription.
    package var named: [String] = []

    /// How many conflicts are named; the report lists all.
    package static let namedLimit = 10

    package init() {}

    package mutating func add(_ item: UndoItem) {
        switch item.standing {
        case .ready: ready += 1
        case .done: done += 1
        case .conflict(let why):
            conflicts += 1
            guard named.count < Self.namedLimit else { return }
            named.append("\(item.entry.subscription.originalTransactionID): \(why)")
        }
    }
}

/// A statement of Apple's about a subscription, and the newest one that a run has seen.
package struct OutdatedStatement: Hashable, Sendable {
    package var originalTransactionID: String
    /// When Apple signed what the correction or the line rests on.
    package var signed: Timestamp
    package var newest: Timestamp

    package init(originalTransactionID: String, signed: Timestamp, newest: Timestamp) {
        self.originalTransactionID = originalTransactionID
        self.signed = signed
        self.newest = newest
    }

    /// For people, in a list.
    package var sentence: String {
        "\(originalTransactionID): of \(signed.rfc3339), the newest is of \(newest.rfc3339)"
    }
}

/// The counts of corrections that were attempted and not written.
package struct UnwrittenCorrections: Hashable, Sendable {
    package var counts: [CorrectionFate: Int] = [:]
    /// The first original transaction ids of each fate, each once.
    package var named: [CorrectionFate: [String]] = [:]
    /// Those of the stale ones whose row is as the plan would have left it.
    package var asPlanned = 0
    /// Those of the stale ones whose statement is older than another one that a run has seen since.
    package var outdated = 0
    /// Whether others were written.
    package var othersWereWritten = false
    /// The first of the outdated ones.
    package var namedOutdated: [OutdatedStatement] = []

    package init() {}

    package mutating func add(_ fate: CorrectionFate, of id: String) {
        counts[fate, default: 0] += 1
        guard named[fate, default: []].count < UndoCounts.namedLimit,
            !named[fate, default: []].contains(id)
        else { return }
        named[fate, default: []].append(id)
    }

    /// Counts a stale correction that a newer statement outdated.
    package mutating func add(_ outdated: OutdatedStatement) {
        self.outdated += 1
        guard namedOutdated.count < UndoCounts.namedLimit, !namedOutdated.contains(outdated) else {
            return
        }
        namedOutdated.append(outdated)
    }
}
