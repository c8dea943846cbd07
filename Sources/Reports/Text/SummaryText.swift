package import Subscriptions

/// The summary for people: `summary.txt` and the terminal.
package enum SummaryText {
    /// The most columns that a line takes where no terminal is narrower.
    package static let columns = 100

    /// Renders the summary.
    ///
    /// The first line says what happened and the exit status; causes come before lines. Sections without content are left
    /// out, apart from the tie-out.
    /// `reportPath` is the run's folder, `nil` where there is none; `notice` says that another root
    /// than Apple's was trusted; `plan` is what a check would change. `isColoured` adds ANSI colours for a
    /// terminal; a file has none. `columns` is the width of a narrower terminal: lines are wrapped once,
    /// where they are made.
    package static func render(
        _ summary: RunSummary, reportPath: String?, notice: String? = nil,
        plan: PlanExcerpt? = nil, isColoured: Bool = false, columns: Int? = nil
    ) -> String {
        let columns = min(columns ?? Self.columns, Self.columns)
        let palette = Palette(isColoured: isColoured, columns: columns)
        let headline = Headline(summary)
        var blocks = [
            headline.text.wrapped(to: columns).map { palette.paint($0, headline.ink) },
            SummarySections.run(summary, notice: notice, columns: columns),
        ]
        let causes = CauseLines(summary).lines(palette)
        if !causes.isEmpty { blocks.append(causes) }
        if let proposal = plan?.block(palette), !proposal.isEmpty { blocks.append(proposal) }
        let sections: [Section] = [
            SummarySections.tieOut(summary.totals), SummarySections.undecided(summary),
            SummarySections.coverage(summary), SummarySections.remainingRisk(summary),
            SummarySections.findings(summary), SummarySections.corrections(summary),
            SummarySections.money(summary.money), SummarySections.business(summary),
            SummarySections.calls(summary),
            SummarySections.evidence(summary), SummarySections.limits(summary),
            SummarySections.liftedGuards(summary), SummarySections.acknowledged(summary),
            SummarySections.messages(summary),
            SummarySections.next(summary),
        ]
        for section in sections where !section.isEmpty { blocks.append(section.lines(palette)) }
        if let reportPath { blocks.append(["Report   \(reportPath.onOneLine)"]) }
        return blocks.map { $0.joined(separator: "\n") + "\n" }.joined(separator: "\n")
    }
}
