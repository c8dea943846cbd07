package import Subscriptions

/// The message to people about a run that has ended: what happened, what is new, and where the
/// report is.
///
/// It names no customer and no subscription: it leaves the house by mail or goes into a chat.
package struct RunMessage: Hashable, Sendable {
    /// A run that began and left no report.
    package struct Unfinished: Hashable, Sendable {
        package var header: RunHeader
        /// Corrections that it wrote; `nil` where that is not known.
        package var corrections: Int?
        /// The command that shows them, quoted for a shell.
        package var inspection: String

        package init(header: RunHeader, corrections: Int?, inspection: String) {
            self.header = header
            self.corrections = corrections
            self.inspection = inspection
        }
    }

    package let status: ExitStatus
    package let job: String
    /// The first line of the summary, or why there is none.
    package let headline: String
    private let host: String
    /// The only apps that the run was for, as `--app` takes them; empty where it was for all.
    private let apps: [String]
    /// `nil` where the run could not begin, or not come to its end.
    private let summary: RunSummary?
    /// Where the run began and there is no summary to tell from.
    private let unfinished: Unfinished?
    private let reportPath: String?
    private let link: String?
    /// The command to give next, where no report names it.
    private let nextCommand: String?

    /// The message of a run whose report is published.
    ///
    /// - Parameters:
    ///   - summary: Of the report.
    ///   - reportPath: The run's folder.
    ///   - link: Where a browser finds reports; `{run}`, `{day}` and `{job}` are replaced by the run's.
    package init(_ summary: RunSummary, reportPath: String, link: String?) {
        status = summary.conclusion.exitStatus
        job = summary.header.job
        headline = Headline(summary).text
        host = summary.header.host
        apps = summary.header.appsAlone
        self.summary = summary
        unfinished = nil
        self.reportPath = reportPath
        nextCommand = nil
        self.link = link.map { link in
            link.replacing("{run}", with: summary.header.runID)
                .replacing("{day}", with: summary.header.started.utcDay)
                .replacing("{job}", with: MetricsFile.plain(summary.header.job))
        }
    }

    /// The message of a run that could not begin, or whose report could not be written or shown.
    ///
    /// - Parameters:
    ///   - job: Which job.
    ///   - host: On which machine.
    ///   - status: With what it ended.
    ///   - reason: Why, in sentences.
    ///   - apps: The only apps that it was for, as `--app` takes them; empty where it was for all.
    ///   - unfinished: What is known of the run where it began; `nil` where it did not, so that it
    ///     changed nothing.
    ///   - nextCommand: What to give next, quoted for a shell, with the settings that the run had.
    package init(
        ofJob job: String, on host: String, endedWith status: ExitStatus, reason: String,
        apps: [String] = [], unfinished: Unfinished? = nil, nextCommand: String
    ) {
        self.status = status
        self.job = job
        self.host = host
        self.apps = apps
        let said = reason.isEmpty ? status.meaning : reason
        headline = "Failed (exit status \(status.code)): \(said)"
        self.nextCommand = nextCommand
        summary = nil
        self.unfinished = unfinished
        reportPath = nil
        link = nil
    }

    /// Kinds that no earlier run has reported, the most severe first.
    package var news: [FindingCount] {
        var counts: [FindingKind: FindingCount] = [:]
        for count in summary?.findings ?? [] where count.state == .new && count.findings > 0 {
            var none = count
            none.findings = 0
            counts[count.kind, default: none].findings += count.findings
        }
        return counts.values.sorted {
            ($1.severity, $0.kind.rawValue) < ($0.severity, $1.kind.rawValue)
        }
    }

    /// `nil` where no report says it.
    private var open: Int? { summary?.count(of: WorstFindings.openStates) }

    /// `nil` where it is not known; a run that did not begin wrote none.
    private var corrections: Int? {
        if let summary { return summary.corrections[.applied] ?? 0 }
        return unfinished.map(\.corrections) ?? 0
    }

    private var header: RunHeader? { summary?.header ?? unfinished?.header }

    // MARK: For machines

    /// The body of the webhook (docs/alerts.md); members may be added, existing ones stay.
    package var json: CanonicalJSON {
        .object([
            "apps": .array(apps.map(CanonicalJSON.string)),
            "corrections_written": .count(corrections),
            "ended": .time(summary?.conclusion.ended),
            "exit_status": .integer(Int64(status.code)),
            "findings_open": .count(open),
            "headline": .string(headline),
            "host": .string(host),
            "job": .string(job),
            "link": .text(link),
            "mode": .text(header?.mode.rawValue),
            "name": .string(status.name),
            "new_findings": .array(
                news.map { news in
                    .object([
                        "findings": .integer(Int64(news.findings)),
                        "kind": .string(news.kind.rawValue),
                        "severity": .string(news.severity.rawValue),
                    ])
                }),
            "report": .text(reportPath),
            "run_id": .text(header?.runID),
            "started": .time(header?.started),
            // Chat services show this member.
            "text": .string(text),
        ])
    }

    // MARK: For people

    /// The subject of a mail.
    package var subject: String {
        let scope =
            switch apps.count {
            case 0: ""
            case 1: " (\(apps[0].onOneLine))"
            default: " (\(apps.count.of("app")))"
            }
        return "trueup \(job.onOneLine)\(scope): \(headline.onOneLine)"
    }

    /// A few lines.
    package var text: String {
        var lines = [headline.onOneLine, ""]
        if summary != nil {
            lines.append(news.isEmpty ? "New findings: none" : "New findings:")
            lines += news.map {
                "  \($0.findings.grouped) \($0.kind.rawValue) (\($0.severity.rawValue))"
            }
            lines.append("")
        }
        lines.append("Job      \(job.onOneLine) on \(host.onOneLine)")
        if !apps.isEmpty { lines.append("Apps     \(apps.joined(separator: ", ").onOneLine)") }
        if let header { lines.append("Run      \(header.runID)") }
        if let unfinished { lines += Self.changes(by: unfinished) }
        if let reportPath { lines.append("Report   \(reportPath.onOneLine)") }
        if let link { lines.append("Link     \(link.onOneLine)") }
        if let nextCommand { lines.append("Next     \(nextCommand.onOneLine)") }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Says what the run may have done to rows although no report of it exists.
    private static func changes(by run: Unfinished) -> [String] {
        let written =
            switch run.corrections {
            case nil: "Rows may have been changed; how many is not known"
            case 0?: "No row was changed"
            case 1?: "1 correction was written; the row stays changed"
            case let count?: "\(count.grouped) corrections were written; the rows stay changed"
            }
        guard run.corrections != 0 else { return ["Rows     " + written] }
        return [
            "Rows     \(written). The next run's report shows what no report shows yet",
            "Shown by \(run.inspection.onOneLine)",
        ]
    }
}
