/// A ledger entry, and whether it can be reverted.
package struct UndoItem: Hashable, Sendable {
    package enum Standing: Hashable, Sendable {
        /// The row is as the entry left it; this correction reverts it.
        case ready(PlannedCorrection)
        /// Already reverted by this later entry, of this run.
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

/// Why a correction cannot be reverted.
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
    /// The correction was reverted, and Apple has signed a newer statement since then: to revert that
    /// would write the older one again.
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
        case .outdated(let newest):
            "Apple signed a newer statement at \(newest.rfc3339); the next run asks about the row"
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

/// The counts of corrections that were attempted and not written.
package struct UnwrittenCorrections: Hashable, Sendable {
    package var counts: [CorrectionFate: Int] = [:]
    /// The first original transaction ids of each fate, each once.
    package var named: [CorrectionFate: [String]] = [:]
    /// Those of the stale ones whose row stands as the plan would have left it.
    package var standingAsPlanned = 0

    package init() {}

    package mutating func add(_ fate: CorrectionFate, of id: String) {
        counts[fate, default: 0] += 1
        guard named[fate, default: []].count < UndoCounts.namedLimit,
            !named[fate, default: []].contains(id)
        else { return }
        named[fate, default: []].append(id)
    }
}
