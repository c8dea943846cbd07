import Foundation
import Subscriptions
import Testing

@testable import Reports

/// What the page leaves out of long lists, and what it shows of the nights before.
@Suite struct `Long lists on the page of a run` {
    private func page(_ run: StoredRun) throws -> String {
        let folder = try TemporaryFolder()
        _ = try folder.report(run)
        return try folder.text("latest/report.html")
    }

    private func finding(
        _ number: Int, _ severity: Severity, _ state: FindingState
    ) -> ReportedFinding {
        var row = LocalSubscription(key: Samples.key("id-\(number)"))
        row.customerID = "c"
        return ReportedFinding(
            findingID: "f-\(number)", runID: Samples.header().runID, state: state,
            firstSeen: Samples.started,
            finding: Finding(kind: .expiry, severity: severity, row: row))
    }

    @Test func `of open findings the worst thousand stand, and it says so`() throws {
        var run = StoredRun(runSummary: Samples.summary())
        run.findings = (0..<5_000).map { finding($0, $0 < 4_500 ? .low : .high, .open) }
        run.findings += (5_000..<5_010).map { finding($0, .low, .new) }
        run.findings += [finding(6_000, .critical, .corrected), finding(6_001, .info, .new)]
        let page = try page(run)
        #expect(
            page.contains("The worst 1,000 of 5,011 open findings, by severity, new ones first"))
        let ids = page.matches(of: /<span class="keep">(id-\d+)<\/span>/).map { String($0.1) }
        let expected =
            (4_500..<5_000).map { "id-\($0)" } + (5_000..<5_010).map { "id-\($0)" }
            + (0..<490).map { "id-\($0)" }
        #expect(ids == expected)
    }

    @Test func `a selection never holds more than twice what it gives`() {
        var worst = WorstFindings(limit: 3)
        for number in 0..<1_000 {
            worst.add(finding(number, number == 500 ? .critical : .low, .open))
        }
        #expect(worst.count == 1_000)
        #expect(worst.sorted.map(\.findingID) == ["f-500", "f-0", "f-1"])
    }

    @Test func `corrections are counted, and the first are listed`() throws {
        var run = try Samples.run()
        let entry = try #require(run.corrections.first)
        run.corrections = (1...250).map { number in
            var entry = entry
            entry.number = Int64(number)
            return entry
        }
        let text = "The first 200 of 250 corrections; corrections.jsonl has them all."
        #expect(try page(run).contains(text))
    }

    private func earlier(
        _ age: Int64, _ status: Subscriptions.ExitStatus?, narrowed: Bool = false, findings: Int = 1
    ) -> EarlierRun {
        var totals = RunTotals()
        totals.matched = 1_234
        return EarlierRun(
            runID: "before-\(age)",
            started: Samples.started.adding(milliseconds: -age * 86_400_000),
            exitStatus: status, isPartial: narrowed, totals: totals, calls: 77,
            figures: RunFigures(kinds: ["expiry": findings], money: []))
    }

    @Test func `a missing night is seen, and a killed one`() throws {
        var run = try Samples.run()
        run.earlier = [
            earlier(89, .ok), earlier(3, .findings, findings: 41), earlier(3, .interrupted),
            earlier(2, nil), earlier(1, .ok, narrowed: true),
        ]
        let page = try page(run)
        let nights = page.matches(of: /<td( class="missing")?><b>\d\d<\/b> no run<\/td>/)
        #expect(nights.count == 85)
        #expect(page.contains("<span class=\"alarming\">killed</span>"))
        #expect(page.contains("<span class=\"good\">ok, in part</span>"))
        #expect(
            page.contains(
                "90 days: 5 with a run of this job, and 85 without one since the first of "
                    + "these, on 2026-08-23."))
        // Neither the stopped run, the killed one nor the one in part is compared with.
        #expect(page.contains("The run before is before-3, begun 2026-11-17 03:17:04 UTC."))
        #expect(page.contains("2026-11-17: 41; 2026-11-18: not counted; 2026-11-19: not counted"))
    }

    @Test func `the tie-out stands beside that of the run before`() throws {
        var run = try Samples.run()
        run.earlier = [earlier(1, .ok)]
        let page = try page(run).replacing(/<[^>]*>/, with: " ").replacing(/\s+/, with: " ")
        #expect(page.contains("matched 1,950 1,234 agree with Apple"))
        #expect(page.contains("in scope 2,000 1,234 the sum of the four"))
    }

    @Test func `a run for some apps is held against runs for the same apps`() throws {
        var run = try Samples.run()
        run.runSummary.header.filters = ["app com.example.app/production"]
        var other = earlier(1, .ok)
        other.isOfOtherApps = true
        run.earlier = [earlier(2, .ok), other]
        #expect(try page(run).contains("The run before is before-2, begun"))
        run.earlier = [other]
        let alone = try page(run)
        #expect(
            alone.contains(
                "There is no complete earlier run of the job for the same apps within 90 days to "
                    + "compare with."))
        #expect(alone.contains("<span class=\"good\">ok</span>"))
    }

    @Test func `says of the days that it knows that they have no earlier run`() throws {
        var run = try Samples.run()
        run.earlier = [earlier(120, .ok)]
        let page = try page(run)
        #expect(
            page.contains(
                "There is no complete earlier run of the job within 90 days to compare with."))
        #expect(
            page.contains(
                "1 with a run of this job, and 0 without one since the first of these, on "
                    + "2026-11-20."))
        #expect(page.contains("no run on the days before 2026-11-20; "))
        #expect(!page.contains("since the first run,"))
    }

    @Test func `a first night has nothing to compare with`() throws {
        let page = try page(try Samples.run())
        #expect(
            page.contains(
                "There is no complete earlier run of the job within 90 days to compare with."))
        #expect(!page.contains("no run</td>"))
        // Nothing is missing before a first run, neither in the calendar nor in a drawing.
        #expect(page.contains("1 with a run of this job, and 0 without one since the first of"))
        #expect(!page.contains("class=\"missing\""))
        #expect(page.contains("no run on the days before 2026-11-20; 2026-11-20: "))
        let drawing = try #require(
            page.firstMatch(of: /(?s)rows not checked<\/title>(.*?)<\/svg>/)?.1)
        #expect(!drawing.contains("class=\"gap\""))
        #expect(drawing.ranges(of: "<rect").count == 1)
    }
}
