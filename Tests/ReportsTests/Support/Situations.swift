import Subscriptions

/// Runs of other kinds than the sample.
enum Situations {
    static func run(
        _ statuses: [ExitStatus], mode: RunMode = .apply, _ change: (inout RunSummary) -> Void
    ) -> RunSummary {
        var summary = Samples.summary()
        summary.header.mode = mode
        summary.conclusion.statuses = statuses
        summary.conclusion.messages = []
        summary.conclusion.limits = []
        summary.totals = RunTotals()
        summary.findings = []
        summary.money = []
        summary.corrections = [:]
        change(&summary)
        return summary
    }

    static let empty = run([.empty]) { $0.conclusion.calls = [] }
    static let match = run([.ok]) { $0.totals.matched = 12_345 }
    static let mended = run([.ok]) {
        $0.totals.matched = 1_963
        $0.totals.discrepant = 37
        $0.corrections = [.applied: 31]
    }
    /// A backfill: rows that were not known yet are filled in and differ from nothing.
    static let filled = run([.ok]) {
        $0.totals.matched = 1_000
        $0.corrections = [.applied: 1_000]
    }
    static let guarded = run([.guarded, .findings]) {
        $0.totals.matched = 1_188
        $0.totals.discrepant = 812
        $0.findings = [
            FindingCount(kind: .accessUnpaid, severity: .high, state: .new, findings: 812)
        ]
        $0.corrections = [.planned: 812]
        $0.conclusion.limits = ["guard max_changes"]
        $0.conclusion.messages = [
            "Stopped by guard max_changes: The plan changes 812 rows; max_changes allows 500."
        ]
    }
    static let interrupted = run([.interrupted, .incomplete]) {
        $0.totals.matched = 812
        $0.totals.undecided = [.deadline: 1_188]
        $0.resumedFrom = "20261119T031704Z-000001"
        $0.header.filters = ["limit 2,000", "shard 1/4"]
    }
    static let check = run([.findings], mode: .check) {
        $0.totals.matched = 1
        $0.totals.discrepant = 1
        $0.findings = [FindingCount(kind: .expiry, severity: .high, state: .new, findings: 1)]
        $0.corrections = [.planned: 1]
    }
    static let denied = run([.denied]) { $0.totals.undecided = [.deadline: 2_000] }

    static let all = [empty, match, mended, filled, guarded, interrupted, check, denied]
}
