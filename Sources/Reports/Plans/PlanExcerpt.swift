import Subscriptions

/// The beginning of a plan, for the summary of a check.
package struct PlanExcerpt: Hashable, Sendable {
    /// How many changes have a line of their own.
    static let mostLines = 20

    private var counts = PlanListing.Counts()
    private var lines: [String] = []
    private var changes = 0
    private let runID: String

    /// Reads the plan to its end, and keeps its beginning.
    ///
    /// - Throws: What the record throws.
    init(of record: any RunRecord, runID: String) throws {
        self.runID = runID
        var counts = PlanListing.Counts()
        var lines: [String] = []
        var changes = 0
        try record.forEachPlanned { correction, fate in
            counts.add(correction)
            changes += 1
            if lines.count < Self.mostLines {
                lines.append(PlanListing.line(of: correction, fate: fate))
            }
        }
        self.counts = counts
        self.lines = lines
        self.changes = changes
    }

    /// A part of the summary; empty where nothing would be changed.
    func block(_ palette: Palette) -> [String] {
        guard changes > 0 else { return [] }
        var block = [palette.paint("PLAN", .heading)]
        block += counts.sentence.wrapped(to: SummaryText.columns, firstMargin: "  ", margin: "  ")
        for line in lines {
            block += line.wrapped(to: SummaryText.columns, firstMargin: "  ", margin: "      ")
        }
        let more = changes - lines.count
        if more > 0 {
            let command = ShellCommand.text(["trueup", "show", "plan", runID])
            block += "\(more.grouped) more: `\(command)`".wrapped(
                to: SummaryText.columns, firstMargin: "  ", margin: "  ")
        }
        return block
    }
}
