import Reports
import Subscriptions
import Testing

@Suite struct `What a summary says of its exit statuses` {
    private func words(_ summary: RunSummary) -> String {
        SummaryText.render(summary, reportPath: nil)
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    private func unavailable(_ results: [String]) -> RunSummary {
        Situations.run([.unavailable, .incomplete]) {
            $0.totals.undecided = [.unavailable: 5]
            $0.conclusion.calls = results.map {
                CallCount(endpoint: "subscription_statuses", result: $0, calls: 5)
            }
        }
    }

    @Test func `findings beside something graver are not called complete`() {
        let summary = Situations.run([.incomplete, .findings]) {
            $0.totals.undecided = [.unavailable: 5]
        }
        #expect(
            words(summary).contains("Also findings (2): findings at or above fail_on remain"))
        #expect(words(Situations.run([.findings]) { _ in }).contains("complete; findings at"))
    }

    @Test func `of two reasons for 69 it names the one that holds`() {
        #expect(
            words(unavailable(["connection", "server_error"])).hasPrefix(
                "Unavailable (exit status 69): no call to Apple succeeded;"))
        for results in [[], ["ok", "connection"]] {
            #expect(
                words(unavailable(results)).hasPrefix(
                    "Unavailable (exit status 69): the database could not be read or written;"))
        }
    }

    @Test func `of the reasons for 75 it names the one that holds`() {
        let locked = Situations.run([.busy]) {
            $0.totals.undecided = [.deadline: 5]
            $0.conclusion.messages = [
                "Another program kept a table or row of postgres://db.example.com/shop locked while "
                    + "correcting a row; nothing of this step was written. Run again."
            ]
        }
        #expect(
            words(locked).hasPrefix(
                "Busy (exit status 75): another program kept a table or row of "
                    + "postgres://db.example.com/shop locked while correcting a row;"))
        #expect(!words(locked).contains("quota would pass"))
        let fenced = Situations.run([.busy]) {
            $0.conclusion.messages = [
                "Another worker has the lease of com.example.app now. There is nothing to do."
            ]
        }
        #expect(
            words(fenced).hasPrefix(
                "Busy (exit status 75): another worker has the lease of com.example.app now"))
        let quota = Situations.run([.busy, .incomplete]) {
            $0.conclusion.limits = ["quota"]
            $0.conclusion.messages = ["Apple's quota is used up until 2026-11-20T04:17:04.000Z."]
        }
        #expect(
            words(quota).hasPrefix(
                "Busy (exit status 75): waiting for the quota would pass the deadline"))
    }

    @Test func `a forecast of a part is not taken for one of all`() {
        var summary = Samples.summary()
        var coverage = RunCoverage(kind: .delta)
        coverage.forecast = CallForecast(
            questions: 62, calls: ["subscription_statuses": 62], milliseconds: nil)
        summary.conclusion.coverage = coverage
        #expect(words(summary).contains("all 2,005 62 or more"))
        coverage.forecast?.calls["notification_history"] = 3
        summary.conclusion.coverage = coverage
        #expect(words(summary).contains("all 2,005 65"))
        #expect(!words(summary).contains("or more"))
    }

    @Test func `a recovered notification is not a correction`() throws {
        var run = try Samples.run()
        run.runSummary.findings = [
            FindingCount(
                kind: .notificationMissed, severity: .high, state: .corrected, findings: 7),
            FindingCount(kind: .accessMissing, severity: .critical, state: .new, findings: 143),
        ]
        let folder = try TemporaryFolder()
        _ = try folder.report(run)
        let page = try folder.text("latest/report.html")
        #expect(page.contains("150 findings: 7 recovered, 143 open"))
    }
}
