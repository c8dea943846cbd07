import Reports
import Subscriptions
import Testing

@Suite struct `The runs of a night in one summary` {
    private func run(
        _ id: String, _ summary: RunSummary?, _ status: Subscriptions.ExitStatus?
    ) -> DaySummary.Run {
        DaySummary.Run(
            listing: RunListing(
                runID: id, job: "nightly", mode: .apply, started: Samples.started,
                ended: status.map { _ in Samples.started }, exitStatus: status,
                totals: summary?.totals ?? RunTotals()),
            summary: summary)
    }

    @Test func `have a line each, and their sums`() {
        let night = DaySummary(
            day: "2026-11-20",
            runs: [
                run("20261120T031704Z-000001", Samples.summary(), .incomplete),
                run("20261120T041704Z-000002", Samples.summary(), .findings),
                run("20261120T051704Z-000003", nil, nil),
            ])
        #expect(
            night.text == """
                2026-11-20 (UTC): 3 runs, the most severe end is incomplete (exit status 3), 1 killed.

                RUN               job      end          rows  differ  undecided  corrected  open  new
                  031704Z-000001  nightly  incomplete  2,000      37          3         31    12    8
                  041704Z-000002  nightly  findings    2,000      37          3         31    12    8
                  051704Z-000003  nightly  killed          0       0          0          –     –    –
                                                       -----  ------  ---------  ---------  ----  ---
                  all                                  4,000      74          6         62    24   16
                  - The sums add up the runs: a row or finding that two runs saw counts twice.
                  - A dash: the run was killed, or its records are past retention. The sums leave it out, so the
                    true ones may be larger.

                LIST PRICES OF PERIODS CONCERNED    amount  currency  periods
                  to the harm of customers           19.98  EUR             2
                  to the harm of the company      2,469.12  USD            24

                """)
    }

    @Test func `have no sums where nothing is known of any`() {
        let night = DaySummary(
            day: "2026-11-20",
            runs: [
                run("20261120T031704Z-000001", nil, .ok), run("20261120T041704Z-000002", nil, .ok),
            ])
        let all = night.lines.first { $0.hasPrefix("  all") } ?? ""
        #expect(all.split(separator: " ") == ["all", "0", "0", "0", "–", "–", "–"])
        #expect(!night.text.contains("may be larger"))
        let json = night.json.rendered
        for name in ["corrections_applied", "findings_new", "findings_open"] {
            #expect(json.ranges(of: "\"\(name)\":null").count == 3, "\(name): \(json)")
        }
        let none = DaySummary(day: "2026-11-20", runs: []).json.rendered
        #expect(none.contains(#""corrections_applied":0"#))
    }

    @Test func `say which apps are whose, where several workers share the night`() throws {
        var own = run("20261120T031704Z-000001", Samples.summary(), .incomplete)
        own.share = DaySummary.Share(worker: "ops@one", apps: ["com.example.one/production"])
        let other = DaySummary.Run(
            WorkerRun(
                books: "two", worker: "ops@two",
                apps: ["com.example.two/production", "com.example.two/sandbox"],
                listing: run("20261120T041704Z-000002", Samples.summary(), .findings).listing,
                figures: Samples.summary().sums))
        let night = DaySummary(
            day: "2026-11-20", runs: [own, other], gap: "A third worker could not be asked.")
        #expect(
            night.text.hasPrefix(
                """
                2026-11-20 (UTC): 2 runs, the most severe end is incomplete (exit status 3). A third worker
                """), "\(night.text)")
        #expect(night.text.contains("new  apps"), "\(night.text)")
        #expect(night.text.contains("  8  com.example.one/production"), "\(night.text)")
        #expect(night.text.contains("  8  2 apps"), "\(night.text)")
        #expect(night.text.contains("4,000      74"), "\(night.text)")
        let json = night.json.rendered
        #expect(json.contains(#""apps":["com.example.one/production"],"#))
        #expect(json.contains(#""worker":"ops@two""#))
        #expect(json.contains(#""gap":"A third worker could not be asked.""#))
    }

    @Test func `say where a report could not be written`() {
        let night = DaySummary(
            day: "2026-11-20", runs: [run("20261120T031704Z-000001", Samples.summary(), .output)])
        #expect(night.text.contains("exit status 74"))
        #expect(night.text.contains("no report"))
        #expect(night.json.rendered.contains(#""exit_status":74"#))
    }

    @Test func `are numbers for machines`() throws {
        let night = DaySummary(
            day: "2026-11-20",
            runs: [run("20261120T031704Z-000001", Samples.summary(), .incomplete)])
        let json = night.json.rendered
        #expect(json.contains(#""date":"2026-11-20","exit_status":3,"findings_new":8"#))
        #expect(json.contains(#""findings_open":12"#))
        #expect(json.contains(#""in_scope":2000"#))
        #expect(json.contains(#""run_id":"20261120T031704Z-000001""#))
    }
}

extension DaySummary {
    fileprivate var text: String { lines.map { $0 + "\n" }.joined() }
}
