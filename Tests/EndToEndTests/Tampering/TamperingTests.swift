import Foundation
import TestSupport
import Testing

/// `verify` against reports of real nights that somebody tampers with (faults.md 72).
@Suite(.timeLimit(.minutes(30))) struct `A report that was tampered with` {
    /// Four nights: two that correct, a check that plans, one that corrects.
    private static let nights = Result { try Nights() }

    private struct Nights: Sendable {
        /// Reports and root certificate, kept when simulator and database are gone.
        let folder: TemporaryFolder

        var reports: URL { folder.url.appendingPathComponent("reports") }

        var root: String { folder.url.appendingPathComponent("root").path }

        init() throws {
            let simulator = try RunningSimulator([
                "--customers", "16", "--drift", "0.6", "--seed", "19",
            ])
            let place = try Workplace(on: simulator)
            try place.writeJob("nightly", "settle: 0s")
            try #require(place.run("init").status == 0)
            let table = try #require(simulator.ready.tableFile)
            try #require(place.run("import", table).status == 0)
            _ = try place.run("run", "nightly")
            for verb in ["run", "check", "run"] {
                try place.sql(
                    """
                    UPDATE subscriptions SET product_id = 'old',
                        auto_renew_status = 1 - auto_renew_status WHERE status = 1
                    """)
                _ = try place.run(verb, "nightly")
            }
            folder = try TemporaryFolder()
            try FileManager.default.copyItem(
                at: place.folder.url.appendingPathComponent("reports"), to: reports)
            try FileManager.default.copyItem(atPath: simulator.ready.rootFile, toPath: root)
        }
    }

    private func forged() throws -> (reports: ForgedReports, root: String) {
        let nights = try Self.nights.get()
        return (try ForgedReports(copyOf: nights.reports), nights.root)
    }

    /// Runs `verify` away from any settings.
    private func verify(
        _ reports: ForgedReports, _ arguments: [String], folder: URL? = nil
    ) throws -> BuiltExecutable.Result {
        try BuiltExecutable("trueup").run(
            ["verify", (folder ?? reports.directory).path] + arguments, in: reports.folder.url)
    }

    @Test func `passes as long as nobody does`() throws {
        let (reports, root) = try forged()
        let whole = try verify(reports, ["--trusted-root", root])
        #expect(whole.status == 0, "\(whole.output)\(whole.errors)")
        for (run, wanted) in zip(reports.runs, [true, true, false, true]) {
            let corrections = try reports.objects(
                reports.runs.firstIndex(of: run) ?? 0, "corrections.jsonl")
            #expect(corrections.isEmpty != wanted, "\(run)")
            #expect(
                !wanted || whole.output.contains("\(corrections.count) corrections re-verified"))
        }
        let run = try verify(reports, ["--trusted-root", root], folder: reports.url(0))
        #expect(run.status == 0, "\(run.output)\(run.errors)")
        let newest = try reports.manifestDigest(3)
        #expect(whole.output.contains(newest))
        let anchored = try verify(reports, ["--trusted-root", root, "--anchor", newest])
        #expect(anchored.status == 0, "\(anchored.output)")
    }

    @Test(arguments: Tampering.all)
    func `is found, and the place is named`(tampering: Tampering) throws {
        let (reports, root) = try forged()
        let anchor = try tampering.anchor?.digest(in: reports)
        var arguments = ["--trusted-root", root] + (try tampering.apply(reports))
        if anchor != nil {
            let unseen = try verify(reports, arguments)
            #expect(unseen.status == 0, "an anchor would not be needed:\n\(unseen.output)")
        }
        if let anchor { arguments += ["--anchor", anchor] }
        let result = try verify(reports, arguments)
        #expect(result.status == 7, "\(result.output)\(result.errors)")
        for name in tampering.named {
            #expect(result.output.contains(name), "\(name) in:\n\(result.output)")
        }
    }

    @Test func `is found when a byte of any file flips`() throws {
        let (reports, root) = try forged()
        let files = try FileManager.default.contentsOfDirectory(atPath: reports.url(0).path)
        try #require(files.count >= 16)
        for file in files.sorted() {
            let url = reports.url(0, file)
            let data = try Data(contentsOf: url)
            guard !data.isEmpty else { continue }
            var flipped = data
            flipped[data.count / 2] ^= 1
            try flipped.write(to: url)
            let result = try verify(
                reports, ["--trusted-root", root, "--quiet"], folder: reports.url(0))
            try data.write(to: url)
            #expect(result.status == 7, "\(file): \(result.output)")
            #expect(result.output.contains(file), "\(file) in:\n\(result.output)")
        }
    }

    @Test func `is not what retention leaves, nor a run that is being written`() throws {
        let (reports, root) = try forged()
        for run in [0, 1] { try FileManager.default.removeItem(at: reports.url(run)) }
        let partial = reports.directory.appendingPathComponent("2026-11-21/half.partial")
        try FileManager.default.createDirectory(at: partial, withIntermediateDirectories: true)
        let result = try verify(reports, ["--trusted-root", root])
        #expect(result.status == 0, "\(result.output)")
        #expect(result.output.contains("removed from the front, by retention or by hand"))
        #expect(
            result.output.contains(
                "2 of 2 are younger than the retention of 400 days that the newest run recorded"),
            "\(result.output)")
        // Nor when the index forgets them too.
        try reports.index { $0.removeSubrange(1...2) }
        let forgotten = try verify(reports, ["--trusted-root", root])
        #expect(forgotten.status == 0)
        #expect(forgotten.output.contains("no longer lists them"), "\(forgotten.output)")
    }

    @Test func `is not what a copy without links is, unless it is another run's or edited`() throws
    {
        let (reports, root) = try forged()
        let latest = reports.directory.appendingPathComponent("latest")
        try FileManager.default.removeItem(at: latest)
        try FileManager.default.copyItem(at: reports.url(3), to: latest)
        let copied = try verify(reports, ["--trusted-root", root])
        #expect(copied.status == 0, "\(copied.output)")
        #expect(copied.output.contains("latest is a copy of"), "\(copied.output)")
        let summary = latest.appendingPathComponent("summary.txt")
        try Data("All is well.\n".utf8).write(to: summary)
        let edited = try verify(reports, ["--trusted-root", root])
        #expect(edited.status == 7)
        #expect(edited.output.contains("latest/summary.txt: it is not as it was written"))
        try FileManager.default.removeItem(at: latest)
        try FileManager.default.copyItem(at: reports.url(1), to: latest)
        let older = try verify(reports, ["--trusted-root", root])
        #expect(older.status == 7)
        #expect(older.output.contains("not a copy of the newest run"), "\(older.output)")
    }

    @Test func `is said when only the report itself vouches for its root`() throws {
        let (reports, _) = try forged()
        let result = try verify(reports, [])
        #expect(result.status == 7)
        #expect(result.output.contains("rehearsal root"))
        #expect(result.output.contains("--trusted-root"))
        // Nobody touched it: it is a rehearsal, and nothing but its root is in question.
        #expect(result.output.contains("UNPROVEN: not Apple's root."), "\(result.output)")
        #expect(!result.output.contains("TAMPERED"), "\(result.output)")
        let json = try verify(reports, ["--json"])
        #expect(json.status == 7)
        #expect(json.output.contains("\"verdict\":\"unproven\""), "\(json.output)")
        try reports.edit(0, "corrections.jsonl") { $0["reason"] = "Nothing to see." }
        let edited = try verify(reports, [])
        #expect(edited.status == 7)
        #expect(edited.output.contains("TAMPERED"), "\(edited.output)")
        #expect(!edited.output.contains("UNPROVEN:"), "\(edited.output)")
    }

    @Test func `is not what a rehearsal is whose root is trusted`() throws {
        let (reports, root) = try forged()
        let trusted = try verify(reports, ["--trusted-root", root])
        #expect(trusted.output.contains("Not Apple's"))
    }

    @Test func `is told to machines`() throws {
        let (reports, root) = try forged()
        try reports.edit(0, "corrections.jsonl") { $0["reason"] = "Nothing to see." }
        let result = try verify(reports, ["--trusted-root", root, "--json"])
        #expect(result.status == 7)
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
        #expect(object["verdict"] as? String == "tampered")
        let runs = try #require(object["runs"] as? [[String: Any]])
        #expect(runs.count == 4)
        let problems = try #require(runs[0]["problems"] as? [[String: Any]])
        #expect(
            problems.contains {
                $0["file"] as? String == "corrections.jsonl" && $0["line"] as? Int == 1
                    && $0["ledger_entry"] as? Int == 1
            })
    }

    @Test func `cannot be looked for where there is no report`() throws {
        let (reports, _) = try forged()
        let nowhere = reports.folder.url.appendingPathComponent("nowhere")
        #expect(try verify(reports, [], folder: nowhere).status == 65)
        #expect(try verify(reports, [], folder: reports.folder.url).status == 65)
        #expect(try verify(reports, ["--anchor", "abc"]).status == 64)
    }
}
