import Foundation
import TestSupport
import Testing

/// Nights whose report folder was deleted or moved between them.
@Suite(.timeLimit(.minutes(30))) struct `A run that does not find the reports before it` {
    private func begun() throws -> Workplace {
        let simulator = try RunningSimulator(["--customers", "12", "--drift", "0.5", "--seed", "7"])
        let place = try Workplace(on: simulator)
        try place.writeJob("nightly", "settle: 0s")
        try #require(place.run("init").status == 0)
        try #require(place.run("import", try #require(simulator.ready.tableFile)).status == 0)
        return place
    }

    /// A night that has something to correct.
    private func night(
        _ place: Workplace, _ arguments: String...
    ) throws -> BuiltExecutable.Result {
        try place.sql(
            "UPDATE subscriptions SET auto_renew_status = 1 - auto_renew_status WHERE status = 1")
        let run = try place.run(["run", "nightly"] + arguments)
        try #require([0, 2].contains(run.status), "\(run.output)\(run.errors)")
        try #require(!place.reportLines("corrections.jsonl").isEmpty)
        return run
    }

    private func messages(_ place: Workplace) throws -> String {
        try #require(try place.summary()["messages"] as? [String]).joined(separator: "\n")
    }

    private func manifest(_ place: Workplace) throws -> [String: Any] {
        let object = try JSONSerialization.jsonObject(
            with: Data(place.report("manifest.json").utf8))
        return try #require(object as? [String: Any])
    }

    private func file(_ place: Workplace, _ name: String) -> URL {
        place.folder.url.appendingPathComponent(name)
    }

    /// Puts reports back that the folder lacks, as docs/backup.md says.
    private func putBackFromMoved(_ place: Workplace) throws {
        let files = FileManager.default
        let days = try files.contentsOfDirectory(atPath: file(place, "moved").path)
        for day in days where day.hasPrefix("20") {
            let folder = file(place, "reports").appendingPathComponent(day)
            try files.createDirectory(at: folder, withIntermediateDirectories: true)
            let runs = file(place, "moved").appendingPathComponent(day)
            for run in try files.contentsOfDirectory(atPath: runs.path) {
                let back = folder.appendingPathComponent(run)
                guard !files.fileExists(atPath: back.path) else { continue }
                try files.moveItem(at: runs.appendingPathComponent(run), to: back)
            }
        }
        try files.removeItem(at: file(place, "reports/index.csv"))
    }

    @Test func `says so, and its chain begins behind them until they are put back`() throws {
        let place = try begun()
        for _ in 1...2 {
            let run = try night(place)
            #expect(!run.errors.contains("has published"), "\(run.errors)")
        }
        let newest = try #require(try manifest(place)["run_id"] as? String)
        let sums = try place.report("SHA256SUMS").split(separator: "\n")
        let digest = try #require(
            sums.first { $0.hasSuffix("  manifest.json") }
        ).prefix(64)
        let files = FileManager.default
        try files.moveItem(at: file(place, "reports"), to: file(place, "moved"))

        let run = try night(place)
        for text in [run.errors, try messages(place), try place.report("run.log.jsonl")] {
            #expect(text.contains("has published the report of run \(newest)"), "\(text)")
            #expect(text.contains("begins again"), "\(text)")
        }
        #expect(try manifest(place)["previous"] as? String == String(digest))
        let verified = try place.run("verify")
        #expect(verified.status == 0, "\(verified.output)")
        #expect(verified.output.contains("retention"), "\(verified.output)")
        let withDatabase = try place.run("verify", "--database")
        #expect(withDatabase.status == 0, "\(withDatabase.output)")
        let first = try #require(
            place.reportLines("corrections.jsonl").first?["ledger_entry"] as? Int)
        #expect(
            withDatabase.output.contains(
                "entries 1 to \(first - 1) of the ledger in the database are in no report"),
            "\(withDatabase.output)")
        // Once is enough.
        #expect(try !night(place).errors.contains("has published"))

        try putBackFromMoved(place)
        _ = try night(place)
        let whole = try place.run("verify", "--database")
        #expect(whole.status == 0, "\(whole.output)")
        #expect(!whole.output.contains("retention"), "\(whole.output)")
        #expect(!whole.output.contains("in no report"), "\(whole.output)")
    }

    @Test func `says that newer ones are missing where older ones were put back`() throws {
        let place = try begun()
        // The names of runs of one second are in no order.
        let second = Date().formatted(.iso8601).dropLast()
        _ = try night(place, "--now", second + ".100Z")
        let files = FileManager.default
        try files.copyItem(at: file(place, "reports"), to: file(place, "backup"))
        _ = try night(place, "--now", second + ".900Z")
        let newest = try #require(try manifest(place)["run_id"] as? String)
        try files.moveItem(at: file(place, "reports"), to: file(place, "moved"))
        try files.moveItem(at: file(place, "backup"), to: file(place, "reports"))
        let run = try night(place)
        #expect(run.errors.contains("has published the report of run \(newest)"), "\(run.errors)")
        #expect(run.errors.contains("reports the gap as tampering"), "\(run.errors)")
        #expect(try place.run("verify").status == 7)
        #expect(try !night(place).errors.contains("has published"))

        try putBackFromMoved(place)
        _ = try night(place)
        let whole = try place.run("verify", "--database")
        #expect(whole.status == 0, "\(whole.output)")
        #expect(!whole.output.contains("in no report"), "\(whole.output)")
    }

    @Test func `goes on from the report that is there when one was written elsewhere`() throws {
        let place = try begun()
        _ = try night(place)
        let elsewhere = try place.run(
            "check", "nightly", environment: ["TRUEUP_REPORT_DIRECTORY": "elsewhere"])
        try #require([0, 2, 5].contains(elsewhere.status), "\(elsewhere.errors)")
        let run = try night(place)
        #expect(run.errors.contains("which report.directory named then"), "\(run.errors)")
        let verified = try place.run("verify", "--database")
        #expect(verified.status == 0, "\(verified.output)")
    }

    @Test func `says nothing after retention`() throws {
        let place = try begun()
        _ = try night(place)
        let oldest = file(place, "reports/latest").resolvingSymlinksInPath()
        _ = try night(place)
        try FileManager.default.removeItem(at: oldest)
        #expect(try !night(place).errors.contains("has published"))
        let verified = try place.run("verify", "--database")
        #expect(verified.status == 0, "\(verified.output)")
        #expect(verified.output.contains("in no report"), "\(verified.output)")
    }
}
