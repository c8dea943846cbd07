import Foundation
import TestSupport
import Testing

/// A report rendered again from the database, after later nights, decisions and settings.
@Suite struct `A stored run` {
    private static let missing = ["SHA256SUMS", "manifest.json", "run.log.jsonl"]

    @Test(.timeLimit(.minutes(30)))
    func `has the bytes of its report whatever happened since`() throws {
        let simulator = try RunningSimulator([
            "--customers", "60", "--drift", "0.2", "--seed", "11",
        ])
        let place = try Workplace(on: simulator)
        try #require(place.run("init").status == 0)
        let imported = try place.run("import", try #require(simulator.ready.tableFile))
        try #require(imported.status == 0, "\(imported.errors)")

        _ = try place.run("run", "nightly")
        let run = try #require(try place.summary()["run_id"] as? String)
        let latest = place.folder.url.appendingPathComponent("reports/latest")
        let published = latest.resolvingSymlinksInPath()
        let open = try place.reportLines("discrepancies.jsonl").first {
            ["new", "open"].contains($0["state"] as? String)
        }
        let finding = try #require(open?["finding_id"] as? String)
        let known = try place.run("acknowledge", finding, "--reason", "known since spring")
        #expect(known.status == 0, "\(known.errors)")
        _ = try place.run("run", "nightly")
        #expect(try place.summary()["run_id"] as? String != run)
        let later = try place.report("report.html")
        #expect(later.contains("The run before is \(run)"))
        #expect(later.contains("known since spring"))
        // The second page is not changed by a third night.
        let second = try #require(try place.summary()["run_id"] as? String)
        _ = try place.run("run", "nightly")
        #expect(try place.run("report", second, "--file", "report.html").output == later)

        // Other settings: the report folder has another name now.
        let settings = try place.folder.text("trueup.yaml")
        try place.folder.write(
            settings.replacing("directory: reports", with: "directory: elsewhere"),
            to: "trueup.yaml")
        let again = try place.run("report", run, "--output", "again")
        #expect(again.status == 0, "\(again.errors)")
        #expect(again.errors.contains("run.log.jsonl"))
        let files = try FileManager.default.contentsOfDirectory(atPath: published.path)
        for name in files where !Self.missing.contains(name) {
            let original = try Data(contentsOf: published.appendingPathComponent(name))
            let copy = try Data(
                contentsOf: place.folder.url.appendingPathComponent("again/" + name))
            #expect(copy == original, "\(name)")
        }
        #expect(
            try FileManager.default.contentsOfDirectory(
                atPath: place.folder.url.appendingPathComponent("again").path
            ).count == files.count - Self.missing.count)

        let summary = try String(
            contentsOf: published.appendingPathComponent("summary.txt"), encoding: .utf8)
        #expect(try place.run("report", run).output == summary)
        let json = try String(
            contentsOf: published.appendingPathComponent("summary.json"), encoding: .utf8)
        #expect(try place.run("report", run, "--json").output == json)

        #expect(try place.run("report", run, "--output", "again").status == 73)
        let log = try place.run("report", run, "--file", "run.log.jsonl")
        #expect(log.status == 64)
        #expect(log.errors.contains("is in the run's report folder only"), "\(log.errors)")
        #expect(try place.run("report", "nonesuch").status == 64)

        let day = published.deletingLastPathComponent().lastPathComponent
        let night = try place.run("report", "night", day)
        #expect(night.status == 0, "\(night.errors)")
        #expect(night.output.contains(try #require(run.split(separator: "T").last)))
        #expect(try place.run("report", "night", "2001-01-01").status == 64)
        let unnamed = try place.run("report", "")
        #expect(unnamed.status == 64)
        #expect(unnamed.errors.contains("trueup status"), "\(unnamed.errors)")
        #expect(try place.run("report", "night").status == 64)
    }
}
