import Reports
import Subscriptions
import Testing

@Suite struct `The summary for people` {
    private func firstLine(_ summary: RunSummary) -> String {
        let text = SummaryText.render(summary, reportPath: nil)
        return text.split(separator: "\n", omittingEmptySubsequences: false).first.map(String.init)
            ?? ""
    }

    @Test func `says all there is to say about a run with everything`() {
        #expect(
            SummaryText.render(Samples.summary(), reportPath: "reports/2026-11-20/x") == """
                Incomplete (exit status 3): 3 of 2,000 rows not checked, 37 differ; 31 corrections written; 12
                findings open (8 critical), 8 new (8 critical).

                Run      20261120T031704Z-7f3c9a, job nightly, mode apply
                Time     2026-11-20 03:17:04 to 2026-11-20 03:19:40 UTC, 2 min 36 s
                App      com.example.app (Production)
                Also     findings (2): findings at or above fail_on remain

                TIE-OUT        rows
                  matched     1,950  agree with Apple
                  discrepant     37  differ from Apple
                  undecided       3  not checked; never counted as a match
                  excluded       10  in flight: Apple signed them too recently
                              -----
                  in scope    2,000  the sum of the four

                NOT CHECKED            rows  why
                  in_flight               1  Apple changed it too recently; the next run checks it again
                  rate_limited            2  Apple's rate limit (429) did not end in time
                  excluded: in_flight    10  signed more recently than the job's settle time

                FINDINGS          severity  total  new  open  corrected  recurring
                  access_missing  critical  1,208    8     0      1,200          0
                  not_found       high          3    0     3          0          0
                  product         high          1    0     0          0          1
                                            -----  ---  ----  ---------  ---------
                  all                       1,212    8     3      1,200          1

                CORRECTIONS  rows
                  applied      31  written, each with its ledger entry
                  stale         1  not written: the row changed, or Apple signed a newer statement

                LIST PRICES OF PERIODS CONCERNED    amount  currency  periods
                  to the harm of customers            9.99  EUR             1
                  to the harm of the company      1,234.56  USD            12

                CALLS TO APPLE           calls  by result
                  notification_history      12  ok 12
                  subscription_statuses  1,993  ok 1,987, rate_limited 6
                                         -----
                  all                    2,005

                LIMITS REACHED
                  - retry budget of subscription_statuses

                MESSAGES
                  - Apple answered 429 for 12 s; the rate was halved.

                NEXT
                  - Run the job again: it checks the rows that were not checked. undecided.csv names them.
                  - Apple does not find 3 ids, 0 of them new: not_found.csv says since when. No run removes access
                    because of that; check them before you decide.
                  - corrections.jsonl has every change with its evidence, corrections.csv the changed values, and
                    undo.json the inverse.

                Report   reports/2026-11-20/x

                """)
    }

    @Test func `of an empty run says that nothing was asked`() {
        #expect(
            SummaryText.render(Situations.empty, reportPath: nil) == """
                Nothing in scope (exit status 5): no row was checked.

                Run      20261120T031704Z-7f3c9a, job nightly, mode apply
                Time     2026-11-20 03:17:04 to 2026-11-20 03:19:40 UTC, 2 min 36 s
                App      com.example.app (Production)

                TIE-OUT       rows
                  matched        0  agree with Apple
                  discrepant     0  differ from Apple
                  undecided      0  not checked; never counted as a match
                  excluded       0  in flight, of seat members, or of no configured app
                              ----
                  in scope       0  the sum of the four

                NEXT
                  - Check the filters of the command, and whether rows were imported.

                """)
    }

    @Test func `of a job that only reads notifications asks for nothing next`() {
        let calls = [CallCount(endpoint: "notification_history", result: "ok", calls: 3)]
        let alone = Situations.run([.empty]) { $0.conclusion.calls = calls }
        #expect(!SummaryText.render(alone, reportPath: nil).contains("NEXT"))
        let limited = Situations.run([.empty]) {
            $0.conclusion.calls = calls
            $0.header.filters = ["app com.example.app"]
        }
        #expect(words(limited).contains("Check the filters of the command"))
        let walked = Situations.run([.empty]) {
            $0.conclusion.calls = calls
            $0.control = ControlTotals(ledgerEntry: 0, apps: [])
        }
        #expect(words(walked).contains("Check the filters of the command"))
    }

    @Test func `counts purchases whose owner is not known, by reason`() {
        let summary = Situations.run([.ok]) {
            $0.measures = RunMeasures(unowned: [
                "token_changed": 1, "no_token": 1_234, "no_customer": 0,
            ])
        }
        let text = SummaryText.render(summary, reportPath: nil)
        #expect(
            text.contains(
                """
                OWNER UNKNOWN    purchases  why
                  token_changed          1  Apple signed another account token than the row has: unowned.csv
                  no_token           1,234  the row has no account token, but others of the app have: unowned.csv

                """), "\(text)")
    }

    @Test func `says why rows were excluded, each reason with its number`() {
        func excluded(_ rows: [ExclusionReason: Int]) -> String {
            words(Situations.run([.ok]) { $0.totals.excluded = rows })
        }
        #expect(
            excluded([.seatMember: 4])
                .contains("excluded 4 of seat members: Apple is not asked about them"))
        let both = excluded([.inFlight: 3, .seatMember: 4])
        #expect(both.contains("excluded 7 3 in flight, 4 of seat members"), "\(both)")
    }

    @Test(arguments: [
        ("2026-12-01T00:00:00Z", "2026-11-30"),
        ("2026-12-01T12:30:00Z", "2026-12-01T12:30:00.000Z"),
    ])
    func `shows the last day of an acknowledgement, or the time of its end`(
        end: String, shown: String
    ) {
        let summary = Situations.run([.ok]) {
            $0.acknowledged = [
                AcknowledgedFinding(
                    findingID: "f-9", kind: .identity, severity: .critical,
                    originalTransactionID: "2000000000000077", decision: 1, actor: "ben@host",
                    reason: "a family", decidedAt: Samples.started, until: Samples.time(end))
            ]
        }
        #expect(words(summary).contains("ben@host \(shown) a family"), "\(words(summary))")
    }

    @Test func `of an empty table counts what Apple's history shows and no row holds`() {
        let summary = Situations.run([.empty, .findings]) {
            $0.findings = [
                FindingCount(kind: .missingLocally, severity: .critical, state: .new, findings: 37),
                FindingCount(kind: .notificationMissed, severity: .high, state: .open, findings: 8),
            ]
            $0.corrections = [.planned: 3]
        }
        let text = SummaryText.render(summary, reportPath: nil)
        let first = text.split(separator: "\n\n").first.map(String.init) ?? ""
        #expect(
            first.split(separator: "\n").joined(separator: " ")
                == "Nothing in scope (exit status 5): no row was checked; 3 corrections planned, "
                + "not written; 45 findings open (37 critical), 37 new (37 critical).")
        #expect(text.contains("Check the filters of the command, and whether rows were imported."))
        #expect(text.contains("Read those in discrepancies.csv"))
    }

    @Test func `begins with what happened and the exit status`() {
        let lines = Situations.all.map(firstLine)
        #expect(
            lines == [
                "Nothing in scope (exit status 5): no row was checked.",
                "OK (exit status 0): all 12,345 rows agree with Apple.",
                "OK (exit status 0): 37 of 2,000 rows differed; 31 corrections written.",
                "OK (exit status 0): no row of 1,000 contradicts Apple; 1,000 corrections written.",
                "Stopped by a guard (exit status 4): max_changes; none of the 812 planned corrections was written.",
                "Stopped by SIGINT (exit status 130): 1,188 of 2,000 rows not checked; a run of the job within 6",
                "Findings remain (exit status 2): 1 of 2 rows differs; 1 correction planned, not written; 1 finding",
                "Denied by Apple (exit status 77): Apple refuses the key (401); 2,000 of 2,000 rows not checked.",
            ])
    }

    @Test func `counts what was judged where rows were left out`() {
        var night = Situations.check
        night.corrections = [:]
        night.findings = []
        night.conclusion.statuses = [.ok]
        night.totals = RunTotals()
        night.totals.matched = 1_464
        night.totals.excluded = [.inFlight: 23]
        #expect(firstLine(night).contains("no row of 1,464 judged differs; 23 in flight"))
    }

    private func words(_ summary: RunSummary) -> String {
        SummaryText.render(summary, reportPath: nil).split(whereSeparator: \.isWhitespace)
            .joined(separator: " ")
    }

    @Test func `tells corrections, fills and new periods apart`() {
        var check = Situations.check
        check.totals.discrepant = 50
        check.totals.matched = 384
        check.corrections = [.planned: 433]
        check.fills = [.planned: FillCounts(filled: 383, periods: 3)]
        let text = words(check)
        #expect(
            text.contains(
                "50 of 434 rows differ; 47 corrections, 383 fills and 3 new periods planned, not "
                    + "written;"))
        #expect(text.contains("fills 383 of these only fill empty values"))
        var night = Situations.filled
        night.fills = [.applied: FillCounts(filled: 1_000)]
        #expect(words(night).contains("contradicts Apple; 1,000 fills written."))
        var guarded = Situations.guarded
        guarded.fills = [.planned: FillCounts(filled: 800)]
        #expect(
            words(guarded).contains(
                "nothing of the plan was written: 12 corrections and 800 fills"))
    }

    @Test func `advises about the program that kept the run from beginning, not about guards`() {
        let refused = words(
            Situations.run([.guarded]) {
                $0.totals.undecided = [.deadline: 3]
                $0.conclusion.limits = ["guard hooks.before"]
            })
        #expect(refused.contains("MESSAGES say why the program of hooks.before refused the run."))
        #expect(!refused.contains("plan.json (what it would have written)"), "\(refused)")
        #expect(words(Situations.guarded).contains("plan.json (what it would have written)"))
    }

    @Test(arguments: Subscriptions.ExitStatus.allCases)
    func `names every exit status`(status: Subscriptions.ExitStatus) {
        let summary = Situations.run([status]) { _ in }
        #expect(firstLine(summary).contains("(exit status \(status.code)): "))
        #expect(!firstLine(summary).contains(": ."))
    }

    @Test func `stays within a hundred columns, a long word apart`() {
        let word = String(repeating: "x", count: 150)
        for var summary in Situations.all + [Samples.summary()] {
            let sentence = String(repeating: "several words and ", count: 30)
            summary.conclusion.messages = [sentence, word]
            summary.conclusion.limits = [sentence]
            summary.header.filters = [sentence]
            summary.header.apps = (0..<9).map {
                AppIdentity(bundleID: "com.example.application\($0)", environment: .sandbox)
            }
            summary.conclusion.calls += (0..<30).map {
                CallCount(endpoint: "subscription_statuses", result: "result\($0)", calls: 1)
            }
            let lines = SummaryText.render(summary, reportPath: nil).split(separator: "\n")
            #expect(lines.filter { $0.count > 100 && !$0.contains(word) } == [])
            #expect(lines.filter { $0.last == " " } == [])
        }
    }

    @Test func `has the same text with colours as without`() {
        for summary in Situations.all + [Samples.summary()] {
            let coloured = SummaryText.render(summary, reportPath: "x", isColoured: true)
            #expect(coloured.contains("\u{1B}[1m"))
            let stripped = coloured.replacing(#/\u{1B}\[[0-9;]*m/#, with: "")
            #expect(stripped == SummaryText.render(summary, reportPath: "x"))
        }
    }

    @Test func `lets no text from outside speak to the terminal`() {
        var summary = Samples.summary()
        summary.conclusion.messages = ["a\u{1B}[2Jb\r\nc\u{202E}d\u{9B}e\0"]
        summary.header.job = "x\u{7}y"
        let text = SummaryText.render(summary, reportPath: "p\u{1B}q")
        #expect(text.contains("  - a [2Jb c d e\n"))
        #expect(text.contains("job x y,"))
        #expect(text.contains("Report   p q\n"))
    }

    @Test func `leaves out the apps where there are none`() {
        var summary = Situations.empty
        summary.header.apps = []
        #expect(!SummaryText.render(summary, reportPath: nil).contains("\nApp"))
    }

    @Test func `adds up to the rows in scope`() throws {
        let numbers = SummaryText.render(Samples.summary(), reportPath: nil)
            .split(separator: "\n").drop { !$0.hasPrefix("TIE-OUT") }.dropFirst()
            .prefix(6).compactMap { line in
                line.split(separator: " ").map { $0.replacing(",", with: "") }
                    .compactMap { Int($0) }.first
            }
        try #require(numbers.count == 5)
        #expect(numbers[0..<4].reduce(0, +) == numbers[4])
    }

    @Test func `shows amounts with the decimals of their currency`() {
        var summary = Samples.summary()
        summary.money = [
            MoneyTotal(currency: "BRL", direction: .customerLoses, amount: 39_960, findings: 1),
            MoneyTotal(currency: "KWD", direction: .customerLoses, amount: 1_250, findings: 1),
            MoneyTotal(currency: "USD", direction: .companyLoses, amount: -1_000, findings: 1),
            MoneyTotal(currency: "JPY", direction: .neutral, amount: 2_697_000, findings: 2),
        ]
        let text = SummaryText.render(summary, reportPath: nil)
        #expect(
            text.contains(
                """
                LIST PRICES OF PERIODS CONCERNED  amount  currency  periods
                  to the harm of customers         39.96  BRL             1
                  without harm to either           2,697  JPY             2
                  to the harm of customers         1.250  KWD             1
                  to the harm of the company       -1.00  USD             1

                """))
    }

    @Test(arguments: [
        (["limit 20"], "only limit 20"),
        (["only access_missing", "limit 20"], "only access_missing, limit 20"),
    ])
    func `says once that a run is limited`(filters: [String], scope: String) {
        let summary = Situations.run([.ok]) { $0.header.filters = filters }
        #expect(
            SummaryText.render(summary, reportPath: nil).contains("\nScope    \(scope)\n"))
    }

    @Test func `groups money by currency, with a total where it harms several`() {
        var summary = Samples.summary()
        summary.money = [
            MoneyTotal(currency: "USD", direction: .companyLoses, amount: 1_000, findings: 1),
            MoneyTotal(currency: "EUR", direction: .companyLoses, amount: 100_000, findings: 3),
            MoneyTotal(currency: "EUR", direction: .customerLoses, amount: 9_990, findings: 1),
        ]
        let text = SummaryText.render(summary, reportPath: nil)
        #expect(
            text.contains(
                """
                LIST PRICES OF PERIODS CONCERNED  amount  currency  periods
                  to the harm of customers          9.99  EUR             1
                  to the harm of the company      100.00  EUR             3
                                                  ------            -------
                  total in EUR                    109.99  EUR             4
                  to the harm of the company        1.00  USD             1

                """), "\(text)")
    }
}
