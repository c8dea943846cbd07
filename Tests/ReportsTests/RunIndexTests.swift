import Foundation
import Reports
import Subscriptions
import Testing

@Suite struct `The index of runs` {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func `has a line per run`() throws {
        let first = try folder.report(try Samples.run("20261120T010000Z-000001"))
        var run = try Samples.run("20261120T020000Z-000002")
        run.runSummary = Situations.interrupted
        run.runSummary.header.runID = "20261120T020000Z-000002"
        let second = try folder.report(run)
        let lines = [
            "run_id,folder,manifest_sha256,job,mode,started,ended,exit_status,outcome,in_scope,"
                + "matched,discrepant,undecided,excluded,findings,corrections_applied,scope,"
                + "tool_version",
            "20261120T010000Z-000001,2026-11-20/20261120T010000Z-000001,\(first.manifestDigest),"
                + "nightly,apply,2026-11-20T03:17:04.000Z,2026-11-20T03:19:40.250Z,3,incomplete,"
                + "2000,1950,37,3,10,1212,31,,1.0.0",
            "20261120T020000Z-000002,2026-11-20/20261120T020000Z-000002,\(second.manifestDigest),"
                + "nightly,apply,2026-11-20T03:17:04.000Z,2026-11-20T03:19:40.250Z,130,signal,"
                + "2000,812,0,1188,0,0,0,\"limit 2,000; shard 1/4\",1.0.0",
        ]
        #expect(try folder.text("index.csv") == lines.map { $0 + "\r\n" }.joined())
    }

    @Test func `is made anew from the manifests, in the order of their chain`() throws {
        for runID in ["20261120T020000Z-000001", "20261120T010000Z-000002"] {
            _ = try folder.report(try Samples.run(runID))
        }
        let index = try folder.text("index.csv")
        try FileManager.default.removeItem(atPath: folder.path + "/index.csv")
        _ = try folder.report(try Samples.run("20261120T030000Z-000003"))
        let renewed = try folder.text("index.csv")
        #expect(renewed.hasPrefix(index))
        #expect(renewed.split(separator: "\r\n").count == 4)
    }

    @Test func `keeps its lines where a job's name has a comma, a quote and a line end`() throws {
        var run = try Samples.run("20261120T010000Z-000001")
        run.runSummary.header.job = "a,\"b\"\nc"
        _ = try folder.report(run)
        let first = try folder.text("index.csv")
        #expect(first.contains("\"a,\"\"b\"\"\nc\""))
        _ = try folder.report(try Samples.run("20261120T020000Z-000002"))
        #expect(try folder.text("index.csv").hasPrefix(first))
    }

    @Test func `of another form is found before the run, not after it`() throws {
        try folder.write("run;date\n", to: "index.csv")
        let error = #expect(throws: ReportError.self) {
            try ReportFolder.begin(in: folder.path, runID: "x1", started: Samples.started)
        }
        guard case .cannotCreate = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(try folder.text("index.csv") == "run;date\n")
    }
}
