import Subscriptions

extension RunIndex {
    /// What `index.csv` says of one run; all of it stands in the run's manifest too.
    struct Line {
        var runID: String
        /// From the report folder, for example `2026-11-20/20261120T031704Z-7f3c9a`.
        var folder: String
        var manifestDigest: String
        var job: String
        var mode: String
        var started: String
        var ended: String
        var exitStatus: Int64
        var outcome: String
        var inScope: Int
        var matched: Int
        var discrepant: Int
        var undecided: Int
        var excluded: Int
        var findings: Int
        var correctionsApplied: Int
        /// Every narrowing in words; empty when the whole job ran.
        var scope: [String]
        var toolVersion: String

        static let table = Table<Line>([
            ("run_id", { .own($0.runID) }),
            ("folder", { .own($0.folder) }),
            ("manifest_sha256", { .own($0.manifestDigest) }),
            ("job", { .text($0.job) }),
            ("mode", { .own($0.mode) }),
            ("started", { .own($0.started) }),
            ("ended", { .own($0.ended) }),
            ("exit_status", { .integer($0.exitStatus) }),
            ("outcome", { .own($0.outcome) }),
            ("in_scope", { Cell($0.inScope) }),
            ("matched", { Cell($0.matched) }),
            ("discrepant", { Cell($0.discrepant) }),
            ("undecided", { Cell($0.undecided) }),
            ("excluded", { Cell($0.excluded) }),
            ("findings", { Cell($0.findings) }),
            ("corrections_applied", { Cell($0.correctionsApplied) }),
            ("scope", { .text($0.scope.joined(separator: "; ")) }),
            ("tool_version", { .text($0.toolVersion) }),
        ])
    }
}

extension RunIndex.Line {
    init(folder: String, manifestDigest: String, summary: RunSummary, toolVersion: String) {
        self.init(
            runID: summary.header.runID, folder: folder, manifestDigest: manifestDigest,
            job: summary.header.job, mode: summary.header.mode.rawValue,
            started: summary.header.started.rfc3339, ended: summary.conclusion.ended.rfc3339,
            exitStatus: Int64(summary.conclusion.exitStatus.code),
            outcome: summary.conclusion.exitStatus.name, inScope: summary.totals.inScope,
            matched: summary.totals.matched, discrepant: summary.totals.discrepant,
            undecided: summary.totals.undecidedCount, excluded: summary.totals.excludedCount,
            findings: summary.findings.reduce(0) { $0 + $1.findings },
            correctionsApplied: summary.corrections[.applied] ?? 0,
            scope: summary.header.narrowing, toolVersion: toolVersion)
    }
}
