import Reports
import Subscriptions
import Testing

@Suite struct `A lifted guard in the report` {
    private let summary: RunSummary = {
        var summary = Samples.summary()
        summary.liftedGuards = [
            GuardLift(
                name: .maxChanges, reason: "a price\nchange", actor: "ops@host",
                liftedAt: Samples.started, liftedBy: "run-7", breach: "812 rows."),
            GuardLift(
                name: .maxShrinkShare, reason: "the same", actor: "ops@host",
                liftedAt: Samples.started, liftedBy: "run-6"),
        ]
        return summary
    }()

    @Test func `is told with who lifted it and why`() {
        let text = SummaryText.render(summary, reportPath: nil)
        let lines = text.split(separator: "\n").map(String.init)
        #expect(lines.contains("  max_changes       ops@host  a price change"))
        #expect(lines.contains("  max_shrink_share  ops@host  the same (not necessary)"))
    }

    @Test func `stops nothing, and a canary's stop does not hide what it wrote`() throws {
        var stopped = summary
        stopped.conclusion.statuses = [.guarded]
        stopped.conclusion.limits = ["guard canary"]
        stopped.corrections = [.applied: 20, .planned: 480]
        let text = SummaryText.render(stopped, reportPath: nil)
        #expect(
            text.hasPrefix(
                "Stopped by a guard (exit status 4): canary; 20 corrections written; "
                    + "480 corrections planned, not"), "\(text)")
    }
}
