import Foundation
import Reports
import Subscriptions
import Testing

@Suite struct `The message of a finished run` {
    private func message(
        link: String? = nil, _ change: (inout RunSummary) -> Void = { _ in }
    ) -> RunMessage {
        var summary = Samples.summary()
        change(&summary)
        return RunMessage(
            summary, reportPath: "/srv/reports/2026-11-20/\(summary.header.runID)", link: link)
    }

    private func members(_ message: RunMessage) throws -> [String: Any] {
        let data = Data(message.json.rendered.utf8)
        return try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    @Test func `counts what is new by kind, and what is open`() throws {
        let found = message()
        #expect(
            found.news.map { "\($0.kind.rawValue) \($0.severity.rawValue) \($0.findings)" }
                == ["access_missing critical 8"])
        let members = try members(found)
        #expect(members["findings_open"] as? Int == 12)
        #expect(members["corrections_written"] as? Int == 31)
        #expect(members["exit_status"] as? Int == 3)
        #expect(members["name"] as? String == "incomplete")
        #expect(members["run_id"] as? String == "20261120T031704Z-7f3c9a")
        let text = try #require(members["text"] as? String)
        #expect(text == found.text)
        #expect(
            text.hasPrefix(found.headline + "\n\nNew findings:\n  8 access_missing (critical)\n"))
    }

    @Test func `names the most severe kind first, and none where nothing is new`() {
        let several = message { summary in
            summary.findings = [
                FindingCount(kind: .product, severity: .low, state: .new, findings: 9),
                FindingCount(kind: .notFound, severity: .critical, state: .new, findings: 1),
            ]
        }
        #expect(several.news.map(\.kind) == [.notFound, .product])
        #expect(message { $0.findings = [] }.text.contains("New findings: none"))
    }

    @Test func `says for which apps a worker's run was`() throws {
        let one = message { $0.header.filters = ["app com.a/production"] }
        #expect(one.subject.hasPrefix("trueup nightly (com.a/production): "))
        #expect(try members(one)["apps"] as? [String] == ["com.a/production"])
        let two = message { $0.header.filters = ["app com.a/production", "app com.b/sandbox"] }
        #expect(two.subject.hasPrefix("trueup nightly (2 apps): "))
        #expect(two.text.contains("\nApps     com.a/production, com.b/sandbox\n"), "\(two.text)")
        #expect(try members(message())["apps"] as? [String] == [])
        #expect(!message().text.contains("\nApps "))
        let failed = RunMessage(
            ofJob: "nightly", on: "host", endedWith: .busy, reason: "", apps: ["com.a/production"],
            nextCommand: "trueup doctor")
        #expect(failed.text.contains("\nApps     com.a/production\n"))
    }

    @Test func `links to the report`() throws {
        let found = message(link: "https://r.example/{day}/{run}?{job}")
        let link = try #require(try members(found)["link"] as? String)
        #expect(link.hasPrefix("https://r.example/2026-11-20/20261120T031704Z-7f3c9a?"))
        #expect(try members(message())["link"] is NSNull)
    }

    @Test func `bears a job of any name`() throws {
        let name = "n\r\nBcc: x\u{202E}\u{0}\"<script>"
        let found = message(link: "https://r.example/{job}") { $0.header.job = name }
        #expect(try members(found)["job"] as? String == name)
        #expect(try members(found)["link"] as? String == "https://r.example/n_Bcc__x____script_")
        for text in [found.subject, found.text] {
            #expect(!text.contains("\r") && !text.contains("\u{202E}") && !text.contains("\u{0}"))
        }
        #expect(!found.subject.contains("\n"))
        #expect(!found.text.contains("\nBcc"))
    }

    @Test func `says why there is no report`() throws {
        let found = RunMessage(
            ofJob: "nightly", on: "db1", endedWith: .busy,
            reason: "Another run holds the lock: job@db1.\nNothing was changed.",
            nextCommand: "trueup doctor --config '/etc/true up.yaml'")
        #expect(found.status == .busy)
        #expect(found.subject.hasPrefix("trueup nightly: Failed (exit status 75): Another run"))
        #expect(!found.subject.contains("\n"))
        #expect(found.text.hasSuffix("\nNext     trueup doctor --config '/etc/true up.yaml'\n"))
        let members = try members(found)
        #expect(members["report"] is NSNull)
        #expect((members["new_findings"] as? [Any])?.isEmpty == true)
    }

    private func unfinished(_ corrections: Int?) -> RunMessage {
        RunMessage(
            ofJob: "nightly", on: "db1", endedWith: .output, reason: "No space left on device.",
            unfinished: .init(
                header: Samples.summary().header, corrections: corrections,
                inspection: "trueup undo 20261120T031704Z-7f3c9a"),
            nextCommand: "trueup doctor")
    }

    @Test func `of a run that began and left no report claims nothing that is not known`() throws {
        for (corrections, words) in [
            (4, "4 corrections were written"), (1, "1 correction was written"),
            (nil, "Rows may have been changed"),
        ] as [(Int?, String)] {
            let found = unfinished(corrections)
            let members = try members(found)
            #expect(members["run_id"] as? String == "20261120T031704Z-7f3c9a")
            #expect(members["mode"] as? String == "apply")
            #expect(members["started"] is String)
            #expect(members["ended"] is NSNull)
            #expect(members["findings_open"] is NSNull)
            #expect(members["corrections_written"] as? Int == corrections)
            #expect(corrections != nil || members["corrections_written"] is NSNull)
            #expect(found.text.contains("\nRun      20261120T031704Z-7f3c9a\n"))
            #expect(found.text.contains(words), "\(found.text)")
            #expect(found.text.contains("\nShown by trueup undo 20261120T031704Z-7f3c9a\n"))
        }
        let untouched = unfinished(0)
        #expect(try members(untouched)["corrections_written"] as? Int == 0)
        #expect(untouched.text.contains("No row was changed"))
        #expect(!untouched.text.contains("Shown by"))
    }

    @Test func `of a run that could not begin says that nothing was written`() throws {
        let members = try members(
            RunMessage(
                ofJob: "nightly", on: "db1", endedWith: .busy, reason: "Busy.",
                nextCommand: "trueup doctor"))
        #expect(members["corrections_written"] as? Int == 0)
        #expect(members["findings_open"] is NSNull)
        #expect(members["run_id"] is NSNull)
    }
}
