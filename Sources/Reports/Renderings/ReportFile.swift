import Subscriptions

/// A run with everything that its files are made from.
struct ReportSource: Sendable {
    let record: any RunRecord
    let summary: RunSummary
    let context: ReportContext
    /// The folder as `summary.txt` names it.
    let shownPath: String
    /// What would be changed; `nil` unless the run was not to write.
    let plan: PlanExcerpt?

    /// - Throws: What reading the plan of a check throws.
    init(
        _ record: any RunRecord, _ summary: RunSummary, context: ReportContext, shownPath: String
    ) throws {
        self.record = record
        self.summary = summary
        self.context = context
        self.shownPath = shownPath
        plan =
            context.isPlanOnly ? try PlanExcerpt(of: record, runID: summary.header.runID) : nil
    }

    var runID: String { summary.header.runID }

    /// Every narrowing in words, or null for the whole job: stated wherever a file has a head.
    var scope: CanonicalJSON {
        let narrowing = summary.header.narrowing
        return narrowing.isEmpty ? .null : .array(narrowing.map(CanonicalJSON.string))
    }
}

/// One file of a report: its name, what it is for, and how it is written.
///
/// A new rendering is a new file beside this one and a line in `all`.
struct ReportFile: Sendable {
    let name: String
    /// One sentence for `README.txt`.
    let purpose: String
    /// Whether it is packed where it is large: a file that grows with each correction.
    let mayBePacked: Bool
    let write: @Sendable (ReportSource, inout OutputFile) throws -> Void

    init(
        name: String, purpose: String, mayBePacked: Bool = false,
        write: @escaping @Sendable (ReportSource, inout OutputFile) throws -> Void
    ) {
        self.name = name
        self.purpose = purpose
        self.mayBePacked = mayBePacked
        self.write = write
    }

    /// The files made from the stored run, in the order in which `README.txt` names them.
    static let all: [ReportFile] = [
        .summaryText, .page, .summaryJSON, .discrepancies, .discrepanciesCSV,
        .discrepanciesWorkbook, .notFound,
        .corrections, .correctionsCSV, .derivations, .undecided, .notifications, .plan, .undo,
        .business, .businessCSV, .evidence,
        .readMe,
    ]

    /// The names of the files that every report holds and that are not made by `all`.
    static let log = "run.log.jsonl"
    static let manifest = "manifest.json"
    static let sums = "SHA256SUMS"
}

extension ReportFile {
    static let summaryText = ReportFile(
        name: "summary.txt", purpose: "the summary for people, as the terminal shows it"
    ) { source, file in
        try file.write(
            SummaryText.render(
                source.summary, reportPath: source.shownPath,
                notice: source.context.trustedRoots.notice, plan: source.plan))
    }
}
