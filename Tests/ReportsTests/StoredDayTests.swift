import Foundation
import Reports
import Subscriptions
import Testing

/// Workers without a database that they share: their report folders tell of the night.
@Suite struct `The runs of a night in report folders` {
    private func publish(_ apps: [AppIdentity], in folder: TemporaryFolder) throws {
        var run = try Samples.run()
        run.runSummary.header.apps = apps
        let report = try ReportFolder.begin(
            in: folder.path, runID: run.runSummary.header.runID, started: Samples.started)
        _ = try report.finish(run, context: Samples.context)
    }

    @Test func `are as the runs themselves told them`() throws {
        let folder = try TemporaryFolder()
        try publish([Samples.app], in: folder)
        let night = StoredDay(of: "2026-11-20", in: folder.path)
        #expect(night.gaps.isEmpty)
        let run = try #require(night.runs.first)
        let summary = try Samples.run().runSummary
        #expect(night.runs.count == 1)
        #expect(run.listing.runID == summary.header.runID)
        #expect(run.listing.started == summary.header.started)
        #expect(run.listing.exitStatus == summary.conclusion.exitStatus)
        #expect(run.listing.totals.inScope == summary.totals.inScope)
        #expect(run.listing.totals.undecided == summary.totals.undecided.filter { $0.value > 0 })
        #expect(run.figures == summary.sums)
        #expect(run.apps == ["com.example.app/production"])
        #expect(StoredDay(of: "2026-11-21", in: folder.path).runs.isEmpty)
    }

    @Test func `add up over the workers`() throws {
        let folders = [try TemporaryFolder(), try TemporaryFolder()]
        let other = AppIdentity(bundleID: "com.example.other", environment: .sandbox)
        try publish([Samples.app], in: folders[0])
        try publish([other], in: folders[1])
        let runs = folders.flatMap { StoredDay(of: "2026-11-20", in: $0.path).runs }
        let night = DaySummary(day: "2026-11-20", runs: runs.map { DaySummary.Run($0) })
        #expect(night.text.contains("4,000"), "\(night.text)")
        #expect(night.text.contains("com.example.other/sandbox"), "\(night.text)")
    }

    @Test func `say what cannot be read, and leave out what is not finished`() throws {
        let folder = try TemporaryFolder()
        try publish([Samples.app], in: folder)
        let day = folder.path + "/2026-11-20"
        for name in ["broken", "20261120T041704Z-000001.partial"] {
            try FileManager.default.createDirectory(
                atPath: day + "/" + name, withIntermediateDirectories: true)
        }
        let night = StoredDay(of: "2026-11-20", in: folder.path)
        #expect(night.runs.count == 1)
        #expect(night.gaps.count == 1 && night.gaps[0].contains("/broken/summary.json"))
        // A count that no run has is not added.
        let path = day + "/" + (night.runs.first?.listing.runID ?? "") + "/summary.json"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        try text.replacing("\"matched\": 1950", with: "\"matched\": \(Int.max)")
            .write(toFile: path, atomically: true, encoding: .utf8)
        #expect(StoredDay(of: "2026-11-20", in: folder.path).runs.isEmpty)
        #expect(StoredDay(of: "2026-11-20", in: folder.path + "/none").gaps.count == 1)
    }
}

extension DaySummary {
    fileprivate var text: String { lines.map { $0 + "\n" }.joined() }
}
