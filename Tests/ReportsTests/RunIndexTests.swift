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

    @Test func `is made again from the manifests, in the order of their chain`() throws {
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

    @Test func `is made again also where the first run is gone and a clock was set back`() throws {
        let ids = ["03", "04", "01", "02"].map { "20261120T\($0)0000Z-000001" }
        for id in ids { _ = try folder.report(try Samples.run(id)) }
        try FileManager.default.removeItem(atPath: folder.path + "/index.csv")
        try FileManager.default.removeItem(atPath: folder.path + "/2026-11-20/" + ids[0])
        let last = "20261120T050000Z-000001"
        _ = try folder.report(try Samples.run(last))
        let listed = try folder.text("index.csv").split(separator: "\r\n").dropFirst()
            .map { String($0.prefix { $0 != "," }) }
        #expect(listed == ids.dropFirst() + [last])
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

    @Test func `is whole again with the next run, wherever it was cut`() throws {
        for number in 1...3 {
            var run = try Samples.run("20261120T010000Z-00000\(number)")
            run.runSummary.header.job = number == 3 ? "a, \"b\"" : "nightly"
            _ = try folder.report(run)
        }
        let whole = try folder.text("index.csv")
        let bytes = Array(whole.utf8)
        for (number, cut) in stride(from: 0, to: bytes.count, by: 7).enumerated() {
            let path = folder.path + "/index.csv"
            try Data(bytes[..<cut]).write(to: URL(fileURLWithPath: path))
            let next = try folder.report(
                try Samples.run("20261120T02\(number / 60 + 10)\(number % 60 + 10)Z-00000a"))
            let index = try folder.text("index.csv")
            #expect(index.hasPrefix(whole), "cut after \(cut) bytes")
            #expect(index.contains(next.manifestDigest))
            #expect(
                index.split(separator: "\r\n").allSatisfy {
                    $0.split(separator: ",").count >= 17
                })
        }
        #expect(try !folder.names().contains("index.csv.damaged"))
    }

    @Test func `sets a cut line aside whose run is gone, and keeps the others`() throws {
        for number in 1...3 {
            _ = try folder.report(try Samples.run("20261120T010000Z-00000\(number)"))
        }
        var lines = try folder.text("index.csv").split(separator: "\r\n").map(String.init)
        try FileManager.default.removeItem(
            atPath: folder.path + "/2026-11-20/20261120T010000Z-000001")
        let cut = String(lines[1].prefix(60))
        let kept = lines[2...]
        lines[1] = cut
        try folder.write(lines.map { $0 + "\r\n" }.joined(), to: "index.csv")
        _ = try folder.report(try Samples.run("20261120T020000Z-000004"))
        let index = try folder.text("index.csv")
        #expect(kept.allSatisfy { index.contains($0 + "\r\n") })
        #expect(!index.contains(cut))
        #expect(try folder.text("index.csv.damaged") == cut + "\r\n")
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
