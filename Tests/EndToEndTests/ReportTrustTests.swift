import Foundation
import TestSupport
import Testing

/// Whose word counts when reports are judged, and whose runs a report folder takes.
@Suite(.timeLimit(.minutes(30))) struct `A report folder` {
    private func night(extra: [String] = []) throws -> Workplace {
        let simulator = try RunningSimulator(["--customers", "12", "--drift", "0.5", "--seed", "3"])
        let place = try Workplace(on: simulator, extra: extra)
        try place.writeJob("nightly", "settle: 0s")
        try #require(place.run("init").status == 0)
        let table = try #require(simulator.ready.tableFile)
        try #require(place.run("import", table).status == 0)
        let run = try place.run("run", "nightly")
        try #require([0, 2].contains(run.status), "\(run.errors)")
        return place
    }

    @Test func `does not bring along whom it is judged by`() throws {
        let place = try night()
        // The root is a rehearsal's own: only settings that somebody chose may vouch for it.
        let beside = try place.run("verify", "reports")
        #expect(beside.status == 7, "\(beside.output)")
        #expect(beside.output.contains("rehearsal root"))
        #expect(beside.output.contains("--trusted-root") && beside.output.contains("--config"))
        let variable = try place.run(
            "verify", "reports", environment: ["TRUEUP_CONFIG": "trueup.yaml"])
        #expect(variable.status == 7, "\(variable.output)")
        let inside = place.folder.url.appendingPathComponent("reports/trueup.yaml")
        try FileManager.default.copyItem(
            at: place.folder.url.appendingPathComponent("trueup.yaml"), to: inside)
        #expect(
            try BuiltExecutable("trueup").run(
                ["verify", "."], in: inside.deletingLastPathComponent()
            ).status == 7)
        try FileManager.default.removeItem(at: inside)

        #expect(try place.run("verify", "reports", "--config", "trueup.yaml").status == 0)
        #expect(
            try place.run("verify", "reports", "--trusted-root", place.simulator.ready.rootFile)
                .status == 0)
        #expect(try place.run("verify").status == 0)
    }

    @Test func `takes the runs of one database`() throws {
        let place = try night()
        let unfinished = "reports/2026-11-20/20261120T031704Z-abcdef.partial"
        try FileManager.default.createDirectory(
            at: place.folder.url.appendingPathComponent(unfinished),
            withIntermediateDirectories: true)
        let other = ["TRUEUP_STORE_URL": "sqlite:other.sqlite"]
        try #require(try place.run("init", environment: other).status == 0)
        try #require(
            try place.run(
                "import", place.simulator.ready.tableFile ?? "", environment: other
            ).status == 0)
        let refused = try place.run("run", "nightly", environment: other)
        #expect(refused.status == 78, "\(refused.output)\(refused.errors)")
        for named in ["other.sqlite", "trueup.sqlite", "report.directory"] {
            #expect(refused.errors.contains(named), "\(named) in \(refused.errors)")
        }
        #expect(
            FileManager.default.fileExists(
                atPath: place.folder.url.appendingPathComponent(unfinished).path))
        // A copy has the same identity, and would tell another story of the same ledger.
        try FileManager.default.copyItem(
            at: place.folder.url.appendingPathComponent("trueup.sqlite"),
            to: place.folder.url.appendingPathComponent("copy.sqlite"))
        let copy = try place.run(
            "run", "nightly", environment: ["TRUEUP_STORE_URL": "sqlite:copy.sqlite"])
        #expect(copy.status == 78, "\(copy.output)\(copy.errors)")
        #expect(copy.errors.contains("a copy"))
        // Its own database goes on, and takes the leftover away.
        #expect([0, 2].contains(try place.run("run", "nightly").status))
        #expect(
            !FileManager.default.fileExists(
                atPath: place.folder.url.appendingPathComponent(unfinished).path))
        #expect(try place.run("verify").status == 0)
        // A moved database is the same one.
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.moveItem(
                at: place.folder.url.appendingPathComponent("trueup.sqlite" + suffix),
                to: place.folder.url.appendingPathComponent("moved.sqlite" + suffix))
        }
        let moved = try place.run(
            "run", "nightly", environment: ["TRUEUP_STORE_URL": "sqlite:moved.sqlite"])
        #expect([0, 2].contains(moved.status), "\(moved.errors)")
    }
}
