import Reports
import Subscriptions
import Testing

@Suite struct `The differences between the findings of two runs` {
    private func notices(_ before: RunSummary, _ after: RunSummary) -> String {
        FindingDifferences(from: before, to: after).lines.joined(separator: "\n")
    }

    @Test func `say that a run of a plan, and an undo, list no other findings`() throws {
        let (check, run) = (Samples.summary("the-check"), try Samples.run("the-run"))
        var apply = run.runSummary
        apply.plan = try Samples.seal(of: run)
        var undo = run.runSummary
        undo.undoOf = "the-check"
        let notice =
            "Run the-run applied a plan or reverted a run, and checked no row itself: a finding that "
            + "it does not list may still be open."
        #expect(notices(check, apply).contains(notice))
        #expect(notices(check, undo).contains(notice))
        #expect(!notices(check, run.runSummary).contains("checked no row itself"))
    }

    @Test func `say that each of two jobs has findings of its own`() {
        let nightly = Samples.summary("run-1")
        var audit = Samples.summary("run-2")
        #expect(!notices(nightly, audit).contains("two jobs"))
        audit.header.job = "audit"
        #expect(
            notices(nightly, audit).hasSuffix(
                "The runs belong to two jobs: a finding that one of them found may be open and not be "
                    + "listed by the other."))
    }
}
