import Subscriptions

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

    private var counts = PlanListing.Counts()
    private var lines: [String] = []
    private var changes = 0
    private let runID: String

    /// Reads the plan to its end, and keeps the first lines of each part.
    ///
    /// - Throws: What the record throws.
    init(of record: any RunRecord, runID: String) throws {
        self.runID = runID
        var counts = PlanListing.Counts()
        var kept: [Part: [String]] = [:]
        var changes = 0
        try record.forEachPlanned { correction, fate in
            counts.add(correction)
            changes += 1
            let part = Part(of: correction)
            if kept[part, default: []].count < Self.mostLines {
                kept[part, default: []].append(PlanListing.brief(of: correction, fate: fate))
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
            let command = ShellCommand.text(["trueup", "show", "plan", runID])
            block += "\(more.grouped) more: `\(command)`".wrapped(
                to: palette.columns, firstMargin: "  ", margin: "  ")
        }
        return block
    }
}

extension PlannedCorrection {
    /// Whether it mends no finding: it fills what was empty, or takes in a period with the first fill.
    fileprivate var isFill: Bool { kinds.isEmpty && undoOf == nil }
}
