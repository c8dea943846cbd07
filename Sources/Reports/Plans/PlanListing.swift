package import Subscriptions

/// A plan for people: one line a change.
package enum PlanListing {
    /// How many rows of which table a plan changes, inserts and deletes.
    package struct Counts: Hashable, Sendable {
        private var subscriptions = 0
        private var last: SubscriptionKey?
        private var rows: [String: [RowAction: Int]] = [:]

        package init() {}

        /// Corrections must come in the order of their subscriptions.
        package mutating func add(_ correction: PlannedCorrection) {
            if last != correction.subscription { subscriptions += 1 }
            last = correction.subscription
            rows[correction.table, default: [:]][correction.action, default: 0] += 1
        }

        /// All counts in a sentence.
        ///
        /// Such as `3 subscriptions; rows of subscriptions 2 changed, 1 inserted; rows of transactions
        /// 12 inserted.`
        package var sentence: String {
            guard !rows.isEmpty else { return "nothing would be changed." }
            let tables = rows.sorted { $0.key < $1.key }.map { table, actions in
                let words: [(RowAction, String)] = [
                    (.update, "changed"), (.insert, "inserted"), (.delete, "deleted"),
                ]
                let parts = words.compactMap { action, word in
                    actions[action].map { "\($0.grouped) \(word)" }
                }
                return "\(table) " + parts.joined(separator: ", ")
            }
            return "\(subscriptions.of("subscription")); rows of "
                + tables.joined(separator: "; rows of ") + "."
        }
    }

    /// `~ 420001000000000 status 2 → 1, expires_date … → …; because access_missing`.
    ///
    /// - Parameters:
    ///   - correction: What is planned.
    ///   - fate: What became of it; said unless it is still planned.
    /// - Returns: One line, safe on a terminal.
    package static func line(of correction: PlannedCorrection, fate: CorrectionFate) -> String {
        line(
            of: correction, fate: fate,
            telling: correction.changes.named.map { words(of: $0, in: correction) })
    }

    /// One line with some of the changes in words.
    static func line(
        of correction: PlannedCorrection, fate: CorrectionFate, telling changes: [String]
    ) -> String {
        let sign =
            switch correction.action {
            case .update: "~"
            case .insert: "+"
            case .delete: "-"
            }
        let key = correction.subscription
        var line = "\(sign) \(key.originalTransactionID)"
        if let transactionID = correction.transactionID { line += " period \(transactionID)" }
        line += " " + changes.joined(separator: ", ")
        let kinds = correction.kinds.map(\.rawValue).joined(separator: ", ")
        line += "; because " + (kinds.isEmpty ? "ours was empty" : kinds)
        if fate != .planned { line += " (\(fate.rawValue))" }
        return line.onOneLine
    }

    /// A column with what it holds and is to hold.
    static func words(
        of change: (column: String, change: FieldChange), in correction: PlannedCorrection
    ) -> String {
        let (before, after) = (shown(change.change.before), shown(change.change.after))
        return switch correction.action {
        case .update: "\(change.column) \(before) → \(after)"
        case .insert: "\(change.column) \(after)"
        case .delete: "\(change.column) \(before)"
        }
    }

    /// The same for machines.
    package static func json(
        of correction: PlannedCorrection, fate: CorrectionFate
    ) -> CanonicalJSON {
        .object(correction.planMembers.merging(["fate": .string(fate.rawValue)]) { own, _ in own })
    }

    private static func shown(_ value: FieldValue) -> String {
        switch value {
        case .null: "(none)"
        case .text(let text): text.isEmpty ? "\"\"" : text
        case .integer(let number): String(number)
        case .time(let time): time.rfc3339
        }
    }
}
