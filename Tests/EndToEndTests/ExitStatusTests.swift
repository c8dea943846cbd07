import Foundation
import TestSupport
import Testing

/// Every exit status that a scheduler may meet, on the built executable.
@Suite(.serialized) struct `The exit status` {
    private static let simulator = try? RunningSimulator(["--customers", "40", "--seed", "3"])

    private func workplace() throws -> Workplace {
        let simulator = try #require(Self.simulator)
        let place = try Workplace(on: simulator)
        try place.writeJob("nightly", steps: "[walk]")
        try #require(place.run("init").status == 0)
        return place
    }

    private func load(_ lines: String..., into place: Workplace) throws {
        let file = try place.folder.write(lines.joined(separator: "\n") + "\n", to: "rows.csv")
        let imported = try place.run("import", file)
        try #require(imported.status == 0, "\(imported.errors)")
    }

    @Test func `is 5 when nothing is in scope`() throws {
        let place = try workplace()
        #expect(try place.run("run", "nightly").status == 5)
        #expect(try place.report("summary.json").contains("\"empty\""))
    }

    @Test func `is 2 when a finding remains and 0 when fail_on allows it`() throws {
        let place = try workplace()
        try load("original_transaction_id", "999999999999999", into: place)
        #expect(try place.run("run", "nightly").status == 2)
        #expect(try place.report("not_found.csv").contains("999999999999999"))
        try place.writeJob("lenient", "fail_on: none", steps: "[walk]")
        #expect(try place.run("run", "lenient").status == 0)
    }

    @Test func `is 4 when a guard stops the run, and nothing is written`() throws {
        let place = try workplace()
        let rows = (1...20).map { "\(800_000_000_000_000 + $0)" }
        try load(
            (["original_transaction_id"] + rows).joined(separator: "\n"), into: place)
        try place.writeJob("guarded", steps: "[walk]", guards: "max_not_found_share: 0.01")
        let run = try place.run("run", "guarded")
        #expect(run.status == 4, "\(run.errors)\n\(run.output)")
        #expect(run.output.contains("guard"))
    }

    @Test func `is 64 for bad arguments`() throws {
        let place = try workplace()
        #expect(try place.run("run").status == 64)
        #expect(try place.run("run", "nightly", "--nonsense").status == 64)
        #expect(try place.run("fly").status == 64)
        #expect(try place.run("run", "nightly", "--shard", "3/2").status == 64)
    }

    @Test func `is 65 for a file that cannot be used, and nothing of it is loaded`() throws {
        let place = try workplace()
        let file = try place.folder.write(
            "original_transaction_id\n2000000000000001\n2.00000012E+15\n", to: "bad.csv")
        let imported = try place.run("import", file)
        #expect(imported.status == 65)
        #expect(imported.errors.contains("bad.csv:3"))
        #expect(try place.rows().isEmpty)
    }

    @Test func `is 69 without a database and without an App Store`() throws {
        let simulator = try #require(Self.simulator)
        let place = try Workplace(on: simulator)
        #expect(try place.run("run", "nightly").status == 69)
        try #require(place.run("init").status == 0)
        try load("original_transaction_id", "999999999999999", into: place)
        let nobody = simulator.appYAML()
            .replacingOccurrences(of: simulator.ready.endpoint, with: "https://127.0.0.1:9")
        try place.writeSettings(apps: [nobody])
        let run = try place.run("run", "nightly")
        #expect(run.status == 69, "\(run.errors)\n\(run.output)")
        #expect(try place.report("undecided.csv").contains("unavailable"))
        let plan = try place.run("show", "plan").output
        #expect(plan.contains("lacks what it did not check"), "\(plan)")
    }

    @Test func `is 73 when the report cannot be created`() throws {
        let place = try workplace()
        try place.folder.write("in the way", to: "reports")
        #expect(try place.run("run", "nightly").status == 73)
    }

    @Test func `is 74 when the output takes no more`() throws {
        let place = try workplace()
        try load("original_transaction_id", "2000000000000001", into: place)
        let full = try shell("exec \"$0\" export >/dev/full", in: place)
        #expect(full.status == 74, "\(full.errors)")
    }

    @Test func `is 74 when no file may grow any more`() throws {
        let place = try workplace()
        for command in ["run nightly", "status", "export"] {
            let limited = try shell("ulimit -f 4; exec \"$0\" \(command)", in: place)
            #expect(limited.status == 74, "\(command)")
            #expect(limited.errors.contains("The disk failed or is full"), "\(limited.errors)")
        }
    }

    @Test func `is 78 when too few files may be open, and a lower limit is raised`() throws {
        let place = try workplace()
        let limited = try shell("ulimit -n 15; exec \"$0\" status", in: place)
        #expect(limited.status == 78)
        #expect(limited.errors.contains("only 15 files open at once"), "\(limited.errors)")
        let raised = try shell("ulimit -S -n 15; exec \"$0\" run nightly", in: place)
        #expect(raised.status == 5, "\(raised.errors)")
    }

    /// Runs a script of the shell, to which `$0` is the program.
    private func shell(_ script: String, in place: Workplace) throws -> BuiltExecutable.Result {
        try BuiltExecutable("sh", in: URL(fileURLWithPath: "/bin")).run(
            ["-c", script, BuiltExecutable("trueup").url.path], in: place.folder.url)
    }

    @Test func `is 75 while another run holds the lock, and names it`() throws {
        let place = try workplace()
        let simulator = place.simulator
        let rows = (1...200).map { "\(800_000_000_000_000 + $0)" }
        try load((["original_transaction_id"] + rows).joined(separator: "\n"), into: place)
        let slow = simulator.appYAML()
            .replacingOccurrences(of: "requests_per_second: 5000", with: "requests_per_second: 4")
        try place.writeSettings(apps: [slow])
        let first = try place.start("run", "nightly")
        try place.untilRowsAreDone(first)
        let second = try place.run("run", "nightly")
        #expect(second.status == 75)
        #expect(second.errors.contains("run nightly"), "\(second.errors)")
        first.send(signal: SIGKILL)
        _ = first.wait()
        try place.writeSettings(apps: [simulator.appYAML()])
        #expect(try place.run("run", "nightly").status == 2)
    }

    @Test func `is 77 for a key that Apple refuses, after few calls`() throws {
        let place = try workplace()
        let simulator = place.simulator
        let rows = (1...50).map { "\(800_000_000_000_000 + $0)" }
        try load((["original_transaction_id"] + rows).joined(separator: "\n"), into: place)
        let refused = simulator.appYAML().replacingOccurrences(
            of: "issuer_id: \(simulator.ready.issuerID)",
            with: "issuer_id: 00000000-0000-0000-0000-000000000000")
        try place.writeSettings(apps: [refused])
        let run = try place.run("run", "nightly")
        #expect(run.status == 77, "\(run.errors)\n\(run.output)")
        #expect(run.output.contains("401"))
        #expect(try place.reportLines("discrepancies.jsonl").isEmpty)
    }

    @Test func `is 77 when others may read the key`() throws {
        let place = try workplace()
        let simulator = place.simulator
        let key = try String(contentsOfFile: simulator.ready.keyFile, encoding: .utf8)
        let copy = try place.folder.write(key, to: "open.p8")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: copy)
        let open = simulator.appYAML()
            .replacingOccurrences(of: simulator.ready.keyFile, with: copy)
        try place.writeSettings(apps: [open])
        let run = try place.run("run", "nightly")
        #expect(run.status == 77)
        #expect(run.errors.contains("chmod 600"))
        #expect(!run.errors.contains(key.split(separator: "\n")[1]))
    }

    @Test func `is 78 for settings that cannot be right`() throws {
        let place = try workplace()
        let simulator = place.simulator
        try place.writeSettings(apps: [simulator.appYAML(extra: ["quota_shares: 0.5"])])
        let run = try place.run("run", "nightly")
        #expect(run.status == 78)
        #expect(run.errors.contains("quota_share"))
        #expect(run.errors.contains("trueup.yaml:"))
    }

    @Test func `every status stands in the help`() throws {
        let place = try workplace()
        let help = try BuiltExecutable("trueup").run(
            ["help", "exit-statuses"], in: place.folder.url)
        #expect(help.status == 0)
        let codes = Array(0...7) + [64, 65, 69, 70] + Array(73...78) + [129, 130, 143]
        for code in codes { #expect(help.output.contains("\n  \(code) "), "\(code)") }
    }
}
