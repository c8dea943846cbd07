extension ReportFile {
    static let summaryText = ReportFile(
        name: "summary.txt", purpose: "the summary for people, as the terminal shows it"
    ) { source, file in
        try file.write(
            SummaryText.render(
                source.summary, reportPath: source.shownPath,
                notice: source.context.trustedRoots.notice))
    }
}
