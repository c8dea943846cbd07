import Reports
import Subscriptions
import Testing

@Suite struct `What the summary says of the rows that Apple was not asked about` {
    private func risk(_ sample: RunCoverage.Sample) -> String {
        var summary = Samples.summary()
        var coverage = RunCoverage(kind: .delta)
        coverage.quiet = 4_000
        coverage.sample = sample
        summary.conclusion.coverage = coverage
        return SummaryText.render(summary, reportPath: nil)
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    private func sample(_ differing: Int, _ notJudged: Int?, drawn: Int = 449) -> RunCoverage.Sample
    {
        .init(drawn: drawn, differing: differing, notJudged: notJudged, bound: 300, seed: 1)
    }

    @Test func `no row that was not judged is said to differ`() {
        #expect(
            risk(sample(0, 68, drawn: 68)).contains(
                "of 68 drawn at random 0 differ and 68 were not checked; the bound counts those as "
                    + "if they differed. This holds"))
        #expect(
            risk(sample(7, 16)).contains(
                "of 449 drawn at random 7 differ and 16 were not checked; the bound counts those as "
                    + "if they differed. This holds"))
        #expect(
            risk(sample(1, 1)).contains(
                "drawn at random 1 differs and 1 was not checked; the bound counts it as if it "
                    + "differed. This holds"))
    }

    @Test func `where every drawn row was judged, nothing is said of others`() {
        #expect(risk(sample(7, 0)).contains("of 449 drawn at random 7 differ. This holds"))
    }

    @Test func `what earlier versions counted together is said together`() {
        #expect(
            risk(sample(23, nil)).contains(
                "of 449 drawn at random 23 differ or were not checked. This holds"))
    }

    @Test(arguments: [(7, 16, 23), (0, 0, 0), (Int.max, 1, Int.max)])
    func `for the bound a row that was not judged counts as one that differs`(
        differing: Int, notJudged: Int, unproven: Int
    ) {
        #expect(sample(differing, notJudged).unproven == unproven)
    }

    @Test func `the summary for machines has both numbers`() throws {
        var run = try Samples.run()
        var coverage = RunCoverage(kind: .delta)
        coverage.quiet = 4_000
        coverage.sample = sample(7, 16)
        run.runSummary.conclusion.coverage = coverage
        let folder = try TemporaryFolder()
        _ = try folder.report(run)
        let text = try folder.text("latest/summary.json")
        #expect(text.contains(#""differ": 7,"#))
        #expect(text.contains(#""not_judged": 16,"#))
        #expect(text.contains(#""judged_by": null"#))
        #expect(text.contains(#""round_before": null"#))
    }

    @Test func `what became of the drawn rows adds up to them`() throws {
        var drawn = sample(0, 3, drawn: 118)
        drawn.judgedBy = .init(ownQuestion: 95, otherQuestion: 18, notification: 2)
        #expect(
            risk(drawn).contains(
                "Of the 118 drawn: 95 checked by a call for the sample, 18 by the answer for another "
                    + "row, such as one of the same customer, 2 by a notification, without a call, "
                    + "3 not checked."))
        drawn.judgedBy = .init(ownQuestion: 115, otherQuestion: 0, notification: 0)
        #expect(!risk(drawn).contains("Of the 118 drawn"))
        var run = try Samples.run()
        var coverage = RunCoverage(kind: .full)
        drawn.judgedBy = .init(ownQuestion: 95, otherQuestion: 18, notification: 2)
        coverage.sample = drawn
        coverage.roundBefore = 120
        run.runSummary.conclusion.coverage = coverage
        let folder = try TemporaryFolder()
        _ = try folder.report(run)
        let text = try folder.text("latest/summary.json")
        for part in [
            #""own_question": 95"#, #""other_question": 18"#, #""notification": 2"#,
            #""round_before": 120"#,
        ] { #expect(text.contains(part), "\(part)") }
    }
}
