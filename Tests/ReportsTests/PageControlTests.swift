import Foundation
import Subscriptions
import Testing

@testable import Reports

/// Control totals, delays and calls against the quota, as the page and `summary.json` have them.
@Suite struct `What was counted and measured` {
    private static let before = ControlSums(
        statuses: [1: 1_000, 2: 480, 0: 9],
        prices: [
            "EUR": .init(periods: 900, amount: 8_991_000),
            "JPY": .init(periods: 3, amount: 1_614_000), "": .init(periods: 2, amount: 0),
        ])
    private static let corrections = ControlSums(
        statuses: [1: 3, 2: -2], prices: ["EUR": .init(periods: 1, amount: 9_990)])

    private static func app(previous: ControlSums? = before) -> AppControlTotals {
        let meanwhile = ControlSums(statuses: [5: 1])
        return AppControlTotals(
            bundleID: "com.example.app", environment: "Production",
            previous: previous.map { .init(runID: "20261119T031704Z-000001", sums: $0) },
            uncounted: ControlSums(), before: before, corrections: corrections,
            after: before + corrections + meanwhile,
            judged: JudgedTotals(
                before: ControlSums(statuses: [1: 40, 2: 12]),
                apple: ControlSums(
                    statuses: [1: 41, 2: 10, 0: 1],
                    prices: ["EUR": .init(periods: 51, amount: 509_490)]),
                after: ControlSums(
                    statuses: [1: 40, 2: 12],
                    prices: ["EUR": .init(periods: 51, amount: 508_490)])))
    }

    private static func run(_ apps: [AppControlTotals] = [app()]) throws -> StoredRun {
        var run = try Samples.run()
        run.runSummary.control = ControlTotals(ledgerEntry: 7, apps: apps)
        run.runSummary.measures = RunMeasures(
            delivery: DeliveryDelays(
                arrived: .init(notifications: 1_204, medianSeconds: 2, worstSeconds: 11_520),
                recovered: .init(notifications: 3, medianSeconds: 90_000, worstSeconds: 864_000),
                underway: 5),
            effort: CallEffort(
                peaks: [
                    .init(
                        bundleID: "com.example.app", environment: "Production",
                        endpoint: "subscription_statuses", calls: 22_230, limit: 180_000)
                ], waitedMilliseconds: ["quota": 61_500, "turn": 0]))
        return run
    }

    private func page(_ run: StoredRun) throws -> String {
        let folder = try TemporaryFolder()
        let path = try folder.report(run).path
        return String(
            decoding: try Data(contentsOf: URL(fileURLWithPath: path + "/report.html")),
            as: UTF8.self)
    }

    private func words(_ page: String) -> String {
        page.replacing(/<[^>]*>/, with: " ").replacing(/\s+/, with: " ")
    }

    @Test func `the count before and what was written come to the count after`() throws {
        let page = try page(Self.run())
        let words = words(page)
        for line in [
            "rows stored 1,491 1,489 as the run began",
            "Ties with run 20261119T031704Z-000001: this run began with the totals with which that run ended.",
            "Other programs also wrote during this run.",
            "end of the run before 1,000 480 0 0 0 9 1,489",
            "written by others since 0 0 0 0 0 0 0",
            "as this run began 1,000 480 0 0 0 9 1,489",
            "corrections of this run +3 -2 0 0 0 0 +1",
            "written by others meanwhile 0 0 0 0 +1 0 +1",
            "as this run ended 1,003 478 0 0 1 9 1,491",
            "EUR 901 8,991.00 0.00 8,991.00 +9.99 0.00 9,000.99",
            "JPY 3 1,614 0 1,614 0 0 1,614", "none stated 2 0.00",
        ] {
            #expect(words.contains(line), "\(line)")
        }
        #expect(!words.contains("runs not counted"))
        // Directly after the numbers of the first screen.
        let first = try #require(page.firstMatch(of: /<h2 id="([a-z]+)"/)?.1)
        #expect(first == "control")
    }

    @Test func `both sides of what was judged stand beside each other`() throws {
        let words = words(try page(Self.run()))
        for line in [
            "stored, when they were checked 40 12 0 0 0 0 52", "Apple states 41 10 0 0 0 1 52",
            "stored, at the end 40 12 0 0 0 0 52",
            "stored at the end less Apple’s -1 +2 0 0 0 -1 0",
            "Apple states nothing about 1 row:",
            "EUR 51 509.49 51 508.49 -1.00",
        ] {
            #expect(words.contains(line), "\(line)")
        }
    }

    @Test func `what does not tie is named, and so are runs that counted nothing`() throws {
        var app = Self.app()
        app.previous?.sums.add(rows: 4, ofStatus: 3)
        app.uncounted.add(rows: 1, ofStatus: 1)
        let words = words(try page(Self.run([app])))
        #expect(
            words.contains("have written to the tables since run 20261119T031704Z-000001 ended."))
        #expect(words.contains("corrections of runs not counted +1 0 0 0 0 0 +1"))
        #expect(words.contains("written by others since -1 0 -4 0 0 0 -5"))
    }

    @Test func `each app has its own`() throws {
        var other = Self.app(previous: nil)
        other.bundleID = "com.example.other"
        let page = try page(Self.run([Self.app(), other]))
        #expect(page.contains("<h3>com.example.other (Production), not configured</h3>"))
        #expect(words(page).contains("No earlier run has counted these tables"))
        #expect(words(page).contains("rows stored 2,982"))
    }

    @Test func `a run without them says why`() throws {
        #expect(words(try page(Samples.run())).contains("Control totals were not counted"))
        #expect(
            words(try page(StoredRun(runSummary: Situations.interrupted)))
                .contains("Control totals are not counted for a partial run."))
    }

    @Test func `delays and the busiest hour are told in numbers`() throws {
        let words = words(try page(Self.run()))
        for line in [
            "came to our endpoint 1,204 2 s 3 h 12 min", "brought by this run 3 25 h 0 min 10 days",
            "Apple still tries 5",
            "subscription_statuses com.example.app (Production) 22,230 180,000 12.4 %",
            "The run waited before its calls: quota 1 min 1 s.",
        ] {
            #expect(words.contains(line), "\(line)")
        }
    }

    @Test func `both are drawn over the nights, with a mark where they were not measured`() throws {
        var run = try Self.run()
        var old = EarlierRun(
            runID: "20261118T031704Z-000001", started: Samples.time("2026-11-18T03:17:04Z"),
            exitStatus: .ok, isPartial: false, totals: RunTotals(), calls: 40)
        old.callsByEndpoint = ["subscription_statuses": 40]
        var last = old
        last.runID = "20261119T031704Z-000001"
        last.started = Samples.time("2026-11-19T03:17:04Z")
        last.measures = run.runSummary.measures
        last.measures?.delivery?.arrived?.worstSeconds = 5
        last.measures?.effort?.waitedMilliseconds = [:]
        run.earlier = [old, last]
        let page = try page(run)
        for line in [
            "<b>calls to subscription_statuses</b>: 1,993 this time; most 1,993 on 2026-11-20",
            "<b>busiest hour of any endpoint, in % of Apple’s limit</b>: 12.4 % this time",
            "<b>waited before calls</b>: 1 min 1 s this time",
            "<b>notifications that came: the latest</b>: 3 h 12 min this time; most 3 h 12 min",
            "2026-11-18: not counted; 2026-11-19: 5 s; 2026-11-20: 3 h 12 min",
            "2026-11-18: 40; 2026-11-19: 40; 2026-11-20: 1,993",
        ] {
            #expect(page.contains(line), "\(line)")
        }
    }

    @Test func `machines get the same`() throws {
        let folder = try TemporaryFolder()
        let path = try folder.report(Self.run()).path
        let data = try Data(contentsOf: URL(fileURLWithPath: path + "/summary.json"))
        let summary = try #require(
            try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let apps = try #require(summary["control_totals"] as? [[String: Any]])
        let app = try #require(apps.first)
        #expect(app["previous_run_id"] as? String == "20261119T031704Z-000001")
        let after = try #require(app["after"] as? [String: [String: Any]])
        #expect(after["rows"] as? [String: Int] == ["1": 1_003, "2": 478, "5": 1, "none": 9])
        #expect(
            after["prices"] as? [String: [String: Int]] == [
                "EUR": ["amount": 9_000_990, "periods": 901],
                "JPY": ["amount": 1_614_000, "periods": 3], "none": ["amount": 0, "periods": 2],
            ])
        let others = try #require(app["others_meanwhile"] as? [String: [String: Any]])
        #expect(others["rows"] as? [String: Int] == ["5": 1])
        let delays = try #require(summary["notification_delays"] as? [String: Any])
        #expect((delays["arrived"] as? [String: Int])?["median_seconds"] == 2)
        #expect(delays["underway"] as? Int == 5)
        let effort = try #require(summary["call_effort"] as? [String: Any])
        #expect((effort["waited_milliseconds"] as? [String: Int])?["quota"] == 61_500)
        #expect((effort["busiest_hour"] as? [[String: Any]])?.first?["calls"] as? Int == 22_230)
    }

    @Test func `watchers get delays and the busiest hour`() throws {
        let text = RunMetrics(try Self.run().runSummary, RunMetrics.Standing()).text
        for line in [
            #"trueup_quota_peak_ratio{job="nightly",app="com.example.app",environment="Production","#
                + #"endpoint="subscription_statuses"} 0.1235"#,
            #"trueup_notification_delay_seconds{job="nightly",way="arrived",figure="median"} 2"#,
            #"trueup_notification_delay_seconds{job="nightly",way="recovered",figure="worst"} 864000"#,
        ] {
            #expect(text.contains(line + "\n"), "\(line)")
        }
    }
}
