import Foundation
import Reports
import Subscriptions
import TestSupport
import Testing

/// What a collector reads: the text format of Prometheus, and figures that agree with the summary.
@Suite struct `Metrics of a run` {
    private static let app = AppIdentity(bundleID: "com.example.app", environment: .production)

    private func summary(_ change: (inout RunSummary) -> Void = { _ in }) -> RunSummary {
        var summary = Samples.summary()
        change(&summary)
        return summary
    }

    /// Name, labels and value of every sample; throws at a line that is none of the format's.
    private func samples(_ text: String) throws -> [String: String] {
        let form =
            #/([a-z_]+)\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)*)\} (-?[0-9]+(?:\.[0-9]+)?)/#
        var samples: [String: String] = [:]
        var typed: Set<Substring> = []
        #expect(text.hasSuffix("\n"))
        for line in text.split(separator: "\n") {
            if line.hasPrefix("# TYPE ") {
                let words = line.split(separator: " ")
                #expect(words.count == 4 && words[3] == "gauge")
                #expect(typed.insert(words[2]).inserted, "a type is stated once")
                continue
            }
            if line.hasPrefix("# HELP ") { continue }
            let match = try #require(line.wholeMatch(of: form), "\(line)")
            #expect(typed.contains(match.1), "a sample comes after its type")
            let name = "\(match.1){\(match.2)}"
            #expect(samples.updateValue(String(match.3), forKey: name) == nil, "\(name) twice")
        }
        return samples
    }

    @Test func `are Prometheus text, each sample once, with the job`() throws {
        var standing = RunMetrics.Standing()
        standing.lastSuccess = Timestamp(unixMilliseconds: 1_795_144_624_000)
        standing.watermarks = [Self.app: Timestamp(unixMilliseconds: 1_795_144_000_250)]
        standing.quota = [
            CallEffort.Peak(
                bundleID: Self.app.bundleID, environment: Self.app.environment.rawValue,
                endpoint: "subscription_statuses", calls: 45_000, limit: 180_000)
        ]
        standing.waitedMilliseconds = ["quota": 61_500]
        standing.pending = 7
        let samples = try samples(RunMetrics(summary(), standing).text)
        #expect(samples.keys.allSatisfy { $0.contains("{job=\"nightly\"") })
        let app = #"app="com.example.app",environment="Production""#
        let expected = [
            #"trueup_last_success_timestamp_seconds{job="nightly"}"#: "1795144624.000",
            #"trueup_watermark_timestamp_seconds{job="nightly",\#(app)}"#: "1795144000.250",
            #"trueup_quota_used_ratio{job="nightly",\#(app),endpoint="subscription_statuses"}"#:
                "0.2500",
            #"trueup_waited_seconds{job="nightly",reason="quota"}"#: "61.500",
            #"trueup_owed_rows{job="nightly"}"#: "7",
        ]
        for (name, value) in expected { #expect(samples[name] == value, "\(name)") }
    }

    @Test func `count what is open, and what is new of it`() throws {
        let text = RunMetrics(
            summary {
                $0.findings = [
                    FindingCount(
                        kind: .accessMissing, severity: .critical, state: .new, findings: 2),
                    FindingCount(
                        kind: .accessMissing, severity: .critical, state: .open, findings: 3),
                    FindingCount(
                        kind: .accessMissing, severity: .critical, state: .corrected, findings: 50),
                    FindingCount(
                        kind: .accessMissing, severity: .critical, state: .acknowledged,
                        findings: 9),
                    FindingCount(
                        kind: .accessMissing, severity: .critical, state: .recurring, findings: 4),
                ]
            }, RunMetrics.Standing()
        ).text
        let samples = try samples(text)
        let labels = #"{job="nightly",kind="access_missing",severity="critical"}"#
        #expect(samples["trueup_open_findings" + labels] == "9")
        // Found again after it was fixed, a finding raises an alert as a new one does.
        #expect(samples["trueup_new_findings" + labels] == "6")
        let critical = #"trueup_open_findings_by_severity{job="nightly",severity="critical"}"#
        #expect(samples[critical] == "9")
        // A severity without findings is 0 and not absent: an alert needs the figure.
        let low = #"trueup_open_findings_by_severity{job="nightly",severity="low"}"#
        #expect(samples[low] == "0")
    }

    @Test func `say nothing of what is not known`() throws {
        let text = RunMetrics(summary { $0.conclusion.coverage = nil }, RunMetrics.Standing()).text
        for name in ["last_success", "oldest_check", "watermark", "remaining_risk", "asked_rows"] {
            #expect(!text.contains("trueup_" + name), "\(name)")
        }
    }

    @Test func `a value from outside cannot break a line`() throws {
        let text = RunMetrics(
            summary {
                $0.header.job = "a\"b\\c\nd"
            }, RunMetrics.Standing()
        ).text
        #expect(try !samples(text).isEmpty)
        #expect(text.contains(#"job="a\"b\\c\nd""#))
    }

    @Test func `every one has its line in the documentation`() throws {
        let table = try #require(try MarkdownPage("docs/monitoring.md").table(headed: "metric"))
        let source = try String(
            contentsOfFile: MarkdownPage.root + "/Sources/Reports/Metrics/RunMetrics.swift",
            encoding: .utf8)
        let names = Set(source.matches(of: #/"(trueup_[a-z_]+)"/#).map { String($0.1) })
        #expect(names.count > 15)
        #expect(table.column("metric").sorted() == names.map { "`\($0)`" }.sorted())
    }

    @Test func `name the apps of a run for some alone, in every sample`() throws {
        let text = RunMetrics(
            summary { $0.header.filters = ["app com.a/production", "app com.b/sandbox"] },
            RunMetrics.Standing()
        ).text
        let common = #"{job="nightly",apps="com.a/production,com.b/sandbox""#
        #expect(try samples(text).keys.allSatisfy { $0.contains(common) })
        let other = RunMetrics(
            summary { $0.header.filters = ["app com.a/production", "limit 1"] },
            RunMetrics.Standing())
        #expect(!other.text.contains("apps="), "leaving out more, it is no worker's night")
    }

    /// The file of a run for these apps.
    private func leave(_ apps: [String], in folder: TemporaryFolder) throws {
        let metrics = RunMetrics(
            summary { $0.header.filters = apps.map { "app " + $0 } }, RunMetrics.Standing())
        try MetricsFile.write(metrics.text, in: folder.path, job: "nightly", apps: apps)
    }

    @Test func `of several workers stand side by side, and no app in two files`() throws {
        let folder = try TemporaryFolder()
        let names = { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
        try leave(["com.a/production"], in: folder)
        try leave(["com.b/production", "com.c/production"], in: folder)
        try MetricsFile.write("a 1\n", in: folder.path, job: "nightly-eu", apps: ["com.a/sandbox"])
        #expect(
            try names() == [
                "trueup-nightly-eu@com.a_sandbox.prom", "trueup-nightly@com.a_production.prom",
                "trueup-nightly@com.b_production+com.c_production.prom",
            ])
        // The shares have changed: b has moved to the first worker.
        try leave(["com.a/production", "com.b/production"], in: folder)
        #expect(
            try names() == [
                "trueup-nightly-eu@com.a_sandbox.prom",
                "trueup-nightly@com.a_production+com.b_production.prom",
            ])
        try leave(["com.c/production"], in: folder)
        #expect(try names().count == 3)
        // A run for all apps stands for every one.
        try leave([], in: folder)
        #expect(try names() == ["trueup-nightly-eu@com.a_sandbox.prom", "trueup-nightly.prom"])
        // One app alone does not take the figures of the others away.
        try leave(["com.a/production"], in: folder)
        #expect(try names().contains("trueup-nightly.prom"))
    }

    @Test func `of many apps have a name that every file system takes`() {
        let apps = (1...300).map { "com.example.app\($0)/production" }
        let name = MetricsFile.name(ofJob: "nightly", apps: apps)
        #expect(name.utf8.count < 100)
        #expect(name.hasPrefix("trueup-nightly@300-apps-"))
        #expect(name == MetricsFile.name(ofJob: "nightly", apps: apps.reversed()))
        #expect(name != MetricsFile.name(ofJob: "nightly", apps: Array(apps.dropFirst())))
    }

    @Test func `replace the file of the run before, and never leave a half`() throws {
        let folder = try TemporaryFolder()
        try MetricsFile.write("a 1\n", in: folder.path, job: "nightly")
        try MetricsFile.write("a 2\n", in: folder.path, job: "nightly")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names == ["trueup-nightly.prom"])
        let path = folder.path + "/trueup-nightly.prom"
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "a 2\n")
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
        #expect(mode as? Int == 0o644)
        #expect(MetricsFile.name(ofJob: "../x/y z") == "trueup-.._x_y_z.prom")
        #expect(throws: ReportError.self) {
            try MetricsFile.write("a 1\n", in: folder.path + "/none", job: "nightly")
        }
    }
}
