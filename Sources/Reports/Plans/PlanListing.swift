package import Subscriptions

/// How many rows of which table a plan changes, inserts and deletes.
package struct PlanCounts: Hashable, Sendable {
    private var subscriptions = 0
    private var last: SubscriptionKey?
    private var rows: [String: [RowAction: Int]] = [:]

    package init() {}

    /// Corrections must come in the order of their subscriptions.
    package mutating func add(_ correction: PlannedCorrection) {
        if correction.changes.transactionTable != .purchases, last != correction.subscription {
            subscriptions += 1
            last = correction.subscription
        }
        rows[correction.table, default: [:]][correction.action, default: 0] += 1
    }

    /// All counts in a sentence.
    ///
    /// Such as
    /// `3 subscriptions; rows of subscriptions 2 changed, 1 inserted; rows of transactions 12 inserted.`
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
        let prefix = subscriptions > 0 ? "\(subscriptions.of("subscription")); " : ""
        return prefix + "rows of " + tables.joined(separator: "; rows of ") + "."
    }
}

/// A planned change for people: one line.
extension PlannedCorrection {
    /// `~ 420001000000000 status 2 → 1, expires_date … → …; because access_missing`.
    ///
    /// - Parameter fate: What became of it; said unless it is still planned.
    /// - Returns: One line, safe on a terminal.
    package func line(fate: CorrectionFate) -> String {
        line(fate: fate, telling: changes.named.map(words))
    }

    /// One line with some of the changes in words.
    private func line(fate: CorrectionFate, telling texts: [String]) -> String {
        let sign =
            switch action {
            case .update: "~"
            case .insert: "+"
            case .delete: "-"
            }
        var line = "\(sign) \(subscription.originalTransactionID)"
        if let transactionID { line += " \(changes.nameOfTransaction) \(transactionID)" }
        line += " " + texts.joined(separator: ", ")
        let kinds = kinds.map(\.rawValue).joined(separator: ", ")
        line += "; because " + (kinds.isEmpty ? "the stored value was empty" : kinds)
        if fate != .planned { line += " (\(fate.rawValue))" }
        return line.onOneLine
    }

    /// A column with its value and its new value.
    private func words(of change: (column: String, change: FieldChange)) -> String {
        let (before, after) = (change.change.before.shown, change.change.after.shown)
        return switch action {
        case .update: "\(change.column) \(before) → \(after)"
        case .insert: "\(change.column) \(after)"
        case .delete: "\(change.column) \(before)"
        }
    }

    /// The change for machines.
    package func json(fate: CorrectionFate) -> CanonicalJSON {
        .object(planMembers.merging(["fate": .string(fate.rawValue)]) { own, _ in own })
    }

    /// About two lines of the summary.
    private static let mostCharacters = 165

    /// The columns that say most about a row that is inserted or deleted, in this order.
    private static let telling = [
        "product_id", "status", "expires_date", "grace_period_expires_date", "revocation_date",
        "purchase_date",
    ]

    /// Returns `line` with as many columns as two lines of the summary have room for.
    ///
    /// - Parameter fate: What became of it; said unless it is still planned.
    /// - Returns: One line, safe on a terminal.
    fileprivate func brief(fate: CorrectionFate) -> String {
        let named = changes.named
        var shown = named
        if action == .update {
            // That Apple signed it later is true of every change.
            let others = named.filter { $0.column != "signed_date" }
            if !others.isEmpty { shown = others }
            // What the correction is for, before what is written with it.
            var reasons: [String] = []
            for column in kinds.flatMap(\.columns) where !reasons.contains(column.rawValue) {
                reasons.append(column.rawValue)
            }
            shown =
                reasons.compactMap { reason in shown.first { $0.column == reason } }
                + shown.filter { !reasons.contains($0.column) }
        } else {
            let chosen = Self.telling.compactMap { column in named.first { $0.column == column } }
            if !chosen.isEmpty { shown = chosen }
        }
        var room = Self.mostCharacters - line(fate: fate, telling: []).count
        var texts: [String] = []
        for change in shown {
            let words = words(of: change)
            room -= words.count + 2
            guard texts.isEmpty || room >= 0 else { break }
            texts.append(words)
        }
        let more = named.count - texts.count
        if more > 0 { texts.append(more.of("more column")) }
        return line(fate: fate, telling: texts)
    }
}

extension FieldValue {
    /// The value for people; a missing value is named, and an empty text is visible.
    var shown: String {
        switch self {
        case .null: "(none)"
        case .text(""): "\"\""
        default: plainText
        }
    }
}

extension FindingKind {
    /// The columns of a row that findings of this kind are about.
    fileprivate var columns: [SubscriptionField] {
        switch self {
        case .accessMissing, .accessUnpaid, .status, .refundReversalMissed, .revocationMissed:
            [.status]
        case .graceMissed: [.status, .gracePeriodExpiresDate]
        case .expiry: [.expiresDate]
        case .product: [.productID]
        case .renewalPreference: [.autoRenewStatus, .autoRenewProductID]
        case .revocationDate: [.revocationDate]
        case .latestTransaction: [.latestTransactionID, .webOrderLineItemID]
        case .ownership: [.inAppOwnershipType]
        case .seats: [.quantity, .renewalQuantity, .revokedSeats]
        case .identity: [.appAccountToken]
        default: []
        }
    }
}

/// The changes of a plan that matter most, for the summary of a check.
package struct PlanExcerpt: Hashable, Sendable {
    /// How many changes have a line of their own.
    static let mostLines = 20

    /// Which changes are shown first.
    private enum Part: Int, CaseIterable {
        case changedRows, newRows, deletedRows, periods, filledRows, filledPeriods

        init(of correction: PlannedCorrection) {
            self =
                switch correction.action {
                case _ where correction.transactionID != nil:
                    correction.isFill ? .filledPeriods : .periods
                case .update where correction.isFill: .filledRows
                case .update: .changedRows
                case .insert: .newRows
                case .delete: .deletedRows
                }
        }
    }

    private var counts = PlanCounts()
    private var lines: [String] = []
    private var changes = 0
    private let runID: String

    /// Reads the plan to its end, and keeps the first lines of each part.
    ///
    /// - Throws: What the record throws.
    init(of record: any RunRecord, runID: String) throws {
        self.runID = runID
        var counts = PlanCounts()
        var kept: [Part: [String]] = [:]
        var changes = 0
        try record.forEachPlanned { correction, fate in
            counts.add(correction)
            changes += 1
            let part = Part(of: correction)
            if kept[part, default: []].count < Self.mostLines {
                kept[part, default: []].append(correction.brief(fate: fate))
            }
        }
        self.counts = counts
        lines = Array(Part.allCases.flatMap { kept[$0] ?? [] }.prefix(Self.mostLines))
        self.changes = changes
    }

    /// A part of the summary; empty where nothing would be changed.
    func block(_ palette: Palette) -> [String] {
        guard changes > 0 else { return [] }
        var block = [palette.paint("PLAN", .heading)]
        block += counts.sentence.wrapped(to: palette.columns, firstMargin: "  ", margin: "  ")
        for line in lines {
            block += line.wrapped(to: palette.columns, firstMargin: "  ", margin: "      ")
        }
        let more = changes - lines.count
        if more > 0 {
            let command = ["trueup", "show", "plan", runID].shellCommand
            block += "\(more.grouped) more: `\(command)`".wrapped(
                to: palette.columns, firstMargin: "  ", margin: "  ")
        }
        return block
    }
}

extension PlannedCorrection {
    /// Whether it fixes no finding: it fills what was empty, or takes in a period with the first
    /// fill.
    fileprivate var isFill: Bool { kinds.isEmpty && undoOf == nil }
}
