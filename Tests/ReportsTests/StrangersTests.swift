import Reports
import Subscriptions
import Testing

@Suite struct `Rows of no configured app` {
    private func words(_ summary: RunSummary) -> String {
        SummaryText.render(summary, reportPath: nil)
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    private func run(
        unconfigured: Int, inFlight: Int = 0, undecided: Int = 0, differing: Int = 1_948
    ) -> RunSummary {
        Situations.run([.incomplete]) {
            $0.totals.matched = 2_408
            $0.totals.discrepant = differing
            $0.totals.excluded = [.appNotConfigured: unconfigured, .inFlight: inFlight]
            if undecided > 0 { $0.totals.undecided = [.unavailable: undecided] }
        }
    }

    @Test func `are the reason that the first line gives`() {
        #expect(
            words(run(unconfigured: 115)).hasPrefix(
                "Incomplete (exit status 3): 115 of 4,471 rows belong to no configured app, 1,948 "
                    + "differ"))
        #expect(
            words(run(unconfigured: 1, differing: 0)).hasPrefix(
                "Incomplete (exit status 3): 1 of 2,409 rows belongs to no configured app"))
        #expect(
            words(run(unconfigured: 115, undecided: 3)).hasPrefix(
                "Incomplete (exit status 3): 3 of 4,474 rows not checked, 115 belong to no configured "
                    + "app, 1,948 differ"))
    }

    @Test func `what was not read of a history is the reason where every row was judged`() {
        let outage =
            "The notification history of com.example.app (Production) was not read to its end: Apple "
            + "answered 503. Its watermark stays; the next run reads it again."
        func run(undecided: Int) -> RunSummary {
            Situations.run([.incomplete]) {
                $0.totals.matched = 8
                if undecided > 0 { $0.totals.undecided = [.unavailable: undecided] }
                $0.conclusion.messages = ["Something else was noticed.", outage]
            }
        }
        let said =
            "the notification history of com.example.app (Production) was not read to its end: Apple "
            + "answered 503"
        #expect(
            words(run(undecided: 0)).hasPrefix(
                "Incomplete (exit status 3): \(said); all 8 rows agree with Apple."))
        #expect(
            words(run(undecided: 2)).hasPrefix(
                "Incomplete (exit status 3): 2 of 10 rows not checked; \(said)."))
    }

    @Test func `are told apart from rows in flight`() {
        #expect(
            words(run(unconfigured: 115)).contains(
                "excluded 115 of no configured app: never checked"))
        #expect(
            words(run(unconfigured: 115, inFlight: 10)).contains(
                "excluded 125 10 in flight, 115 of no configured app"))
        #expect(
            words(run(unconfigured: 0, inFlight: 10)).contains(
                "excluded 10 in flight: Apple signed them"))
    }

    @Test func `are not asked again by running the job again`() {
        let alone = words(run(unconfigured: 115))
        #expect(!alone.contains("Run the job again"))
        #expect(!alone.contains("undecided.csv"))
        #expect(
            alone.contains(
                "115 rows belong to no configured app, and no run checks them. Add their app "
                    + "(bundle_id and environment) to apps in the settings, or correct these columns "
                    + "where they name the wrong one."))
        let both = words(run(unconfigured: 115, undecided: 3))
        #expect(both.contains("Run the job again: it checks the rows that were not checked."))
        #expect(both.contains("115 rows belong to no configured app, and no run"))
    }

    @Test func `without them and with all judged, what is missing is said by the messages`() {
        let summary = run(unconfigured: 0)
        #expect(!words(summary).contains("undecided.csv"))
        #expect(words(summary).contains("Run the job again: it reads and checks what is left."))
    }

    @Test func `in a run that checks none are no reason to run the job again`() throws {
        let seal = try Samples.seal(of: Samples.run("20261120T010000Z-000001"))
        let apply = words(Situations.run([.incomplete]) { $0.plan = seal })
        #expect(
            apply.contains(
                "Run the same command again: it writes what is left of the plan. For changes whose "
                    + "evidence is no longer stored, make a new plan (\"trueup check\")."))
        let undo = words(Situations.run([.incomplete]) { $0.undoOf = "the-run" })
        #expect(undo.contains("Run the same command again: it reverts what is left."))
        var own = seal
        own.head.plannedBy = Situations.run([.incomplete]) { _ in }.header.runID
        let planning = words(Situations.run([.incomplete]) { $0.plan = own })
        for text in [apply, undo] { #expect(!text.contains("Run the job again")) }
        #expect(planning.contains("Run the job again"))
    }
}
