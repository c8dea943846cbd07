import Foundation
import TestSupport
import Testing

/// A plan as somebody reads it before it is applied, and the names by which people call things.
@Suite struct `At the terminal` {
    private func workplace() throws -> Workplace {
        let simulator = try RunningSimulator([
            "--customers", "60", "--drift", "0.2", "--seed", "11",
        ])
        let place = try Workplace(on: simulator)
        try #require(place.run("init").status == 0)
        let imported = try place.run("import", try #require(simulator.ready.tableFile))
        try #require(imported.status == 0, "\(imported.errors)")
        return place
    }

    @Test(.timeLimit(.minutes(30)))
    func `a plan is a line for each change, and what is written is what it said`() throws {
        let place = try workplace()
        #expect(try place.run("show", "plan").status == 64)
        _ = try place.run("check", "nightly")
        let shown = try place.run("show", "plan")
        try #require(shown.status == 0, "\(shown.errors)")
        let lines = shown.output.split(separator: "\n")
        let plan = try #require(try place.summary()["plan"] as? [String: Any])
        let changes = try #require(plan["changes"] as? Int)
        #expect(lines.count == 1 + changes)
        #expect(lines.dropFirst().allSatisfy { $0.hasPrefix("~ ") || $0.hasPrefix("+ ") })
        #expect(lines[0].contains("rows of subscriptions"))
        #expect(lines.contains { $0.contains(" → ") && $0.contains("; because ") })

        // The check's own files say the same, and hold against each other.
        #expect(try place.report("summary.txt").contains("\nPLAN\n"))
        let csv = try place.report("corrections.csv").components(separatedBy: "\r\n")
        #expect(csv.count > changes + 1)
        #expect(csv.dropFirst().dropLast().allSatisfy { $0.contains(",planned,") })
        #expect(try place.reportLines("corrections.jsonl").isEmpty)
        let verified = try place.run("verify")
        #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
        let causes = try self.causes(place)
        #expect(!causes.isEmpty)

        // Under the last part of its name, too, and as JSON.
        let run = try #require(try place.summary()["run_id"] as? String)
        let short = try #require(run.split(separator: "-").last.map(String.init))
        #expect(try place.run("show", "plan", short).output == shown.output)
        let json = try place.run("show", "plan", "reports/latest", "--json").output
        #expect(json.split(separator: "\n").count == changes)

        // The summary names the next command whole: as it stands there, it works.
        let next = try place.report("summary.txt").split(separator: "`").map(String.init)
            .first { $0.hasPrefix("trueup apply ") }
        let words = try #require(next).split(separator: " ").dropFirst().map(String.init)
        let applied = try place.run(words)
        #expect([0, 2].contains(applied.status), "\(applied.errors)")
        #expect(try place.reportLines("corrections.jsonl").count == changes)
        // What the check found out about them is not forgotten.
        let mended = try self.causes(place)
        #expect(!mended.isEmpty)
        for (id, cause) in mended { #expect(causes[id] == cause, "\(id)") }
    }

    /// The causes of the findings of the newest report that something corrects, by finding.
    private func causes(_ place: Workplace) throws -> [String: String] {
        let corrected = try place.reportLines("discrepancies.jsonl").filter {
            ["planned", "corrected", "inserted"].contains($0["action"] as? String ?? "")
        }
        return Dictionary(
            corrected.map { ($0["finding_id"] as? String ?? "", $0["cause"] as? String ?? "") }
        ) { first, _ in first }
    }

    @Test(.timeLimit(.minutes(30)))
    func `a run is taken back under the names that people try`() throws {
        let place = try workplace()
        _ = try place.run("run", "nightly")
        let run = try #require(try place.summary()["run_id"] as? String)
        let whole = try place.run("undo", run)
        try #require(whole.status == 0, "\(whole.errors)")
        for name in ["latest", "reports/latest", "reports/\(run)", String(run.suffix(6))] {
            #expect(try place.run("undo", name).output == whole.output, "\(name)")
        }
        let day = String(run.prefix(8))
        _ = try place.run("check", "nightly")
        let ambiguous = try place.run("undo", day)
        #expect(ambiguous.status == 64)
        #expect(ambiguous.errors.contains("more than one run"), "\(ambiguous.errors)")
        #expect(ambiguous.errors.contains(run))
    }

    @Test func `a mistyped command is told the right one`() throws {
        let place = try workplace()
        let result = try place.run("chekc", "nightly")
        #expect(result.status == 64)
        #expect(result.errors.contains("did you mean \"check\"?"), "\(result.errors)")
        #expect(try place.run("help", "exit-status").output.contains("\n  129  signal "))
    }

    @Test(arguments: [
        ("rows.csv", "a;b\n1;2\n", "semicolons"), ("rows.csv", "a\tb\n1\t2\n", "tabs"),
        ("rows.xlsx", "PK\u{3}\u{4}rest", ".xlsx"),
    ])
    func `a file in another form is called by its name`(
        name: String, text: String, says: String
    ) throws {
        let place = try workplace()
        let file = try place.folder.write(text, to: name)
        let result = try place.run("import", file)
        #expect(result.status == 65)
        #expect(result.errors.contains(says), "\(result.errors)")
    }

    @Test func `an empty job file is refused before anything is asked`() throws {
        let place = try workplace()
        try place.folder.write("", to: "jobs/empty.yaml")
        let result = try place.run("run", "empty")
        #expect(result.status == 78)
        #expect(result.errors.contains("jobs/empty.yaml:1"), "\(result.errors)")
        #expect(result.errors.contains("the file is empty"))
    }
}
