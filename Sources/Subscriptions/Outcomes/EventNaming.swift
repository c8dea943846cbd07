/// How corrections are named to billing: a table, read from the top; the first line that fits names
/// the event.
///
/// The table is fixed before a run writes, and passed to the store as a value. A name cannot
/// be fixed: it depends on the row after the write. A correction carries only the columns that
/// it changes, and the status that a later expiry is judged by may be none of them; triggers of the
/// company's may change more in the same write; and a plan made by an earlier version knows of no
/// names. The store reads the row inside the transaction and looks it up here.
package struct EventNaming: Hashable, Sendable {
    /// One line of the table: all conditions must hold.
    package struct Line: Hashable, Sendable {
        package var event: BillingEvent
        package var conditions: [Condition]

        package init(_ event: BillingEvent, when conditions: Condition...) {
            self.event = event
            self.conditions = conditions
        }
    }

    /// What can be asked of a correction and of the row that it leaves.
    package enum Condition: Hashable, Sendable {
        /// No finding was corrected and nothing was reverted: only unknown values were filled in.
        case fillsIn
        /// It was about a period, or the row is gone.
        case leavesNoSubscription
        /// The row was not there before.
        case inserts
        case changes(SubscriptionField)
        /// One known value took the place of another.
        case replaces(SubscriptionField)
        /// Another time, and a later one.
        case movesLater(SubscriptionField)
        /// The column held this before.
        case held(SubscriptionField, FieldValue)
        /// The column holds one of these now.
        case holds(SubscriptionField, [FieldValue])
        /// The column holds a number now, whichever.
        case holdsNumber(SubscriptionField)
    }

    private let lines: [Line]
    /// No event is sent for other names.
    private let delivered: Set<BillingEvent>

    /// - Parameters:
    ///   - lines: the table, from the top.
    ///   - delivered: the events that are sent.
    package init(_ lines: [Line], delivered: Set<BillingEvent>) {
        self.lines = lines
        self.delivered = delivered
    }

    /// Names a correction.
    ///
    /// - Parameters:
    ///   - entry: what was written.
    ///   - row: the subscription's row as it stands afterwards; `nil` when there is none.
    /// - Returns: The event; `nil` when none is sent.
    package func event(of entry: LedgerEntry, leaving row: LocalSubscription?) -> BillingEvent? {
        let correction = WrittenCorrection(entry: entry, row: row)
        let line = lines.first { $0.conditions.allSatisfy(correction.fulfils) }
        guard let event = line?.event, delivered.contains(event) else { return nil }
        return event
    }
}

/// Both sides of a correction: what stood in the row before, and what stands there now.
private struct WrittenCorrection {
    let entry: LedgerEntry
    let row: LocalSubscription?

    func fulfils(_ condition: EventNaming.Condition) -> Bool {
        switch condition {
        case .fillsIn: entry.kinds.isEmpty && entry.undoOf == nil
        case .leavesNoSubscription: entry.changes.table != .subscriptions || row == nil
        case .inserts: change(of: .originalTransactionID) != nil
        case .changes(let field): change(of: field) != nil
        case .replaces(let field):
            change(of: field).map { !$0.before.isEmpty && !$0.after.isEmpty } ?? false
        case .movesLater(let field): movesLater(field)
        case .held(let field, let value): before(field) == value
        case .holds(let field, let values): values.contains(after(field))
        case .holdsNumber(let field): if case .integer = after(field) { true } else { false }
        }
    }

    private func movesLater(_ field: SubscriptionField) -> Bool {
        guard case .time(let old) = before(field), case .time(let new) = after(field) else {
            return false
        }
        return new > old
    }

    private func change(of field: SubscriptionField) -> FieldChange? {
        entry.changes.ofSubscription[field]
    }

    private func before(_ field: SubscriptionField) -> FieldValue {
        change(of: field)?.before ?? after(field)
    }

    private func after(_ field: SubscriptionField) -> FieldValue {
        row?.value(of: field) ?? .null
    }
}
