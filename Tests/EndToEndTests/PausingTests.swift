import Foundation
import TestSupport
import Testing

/// A run that somebody watches, pauses, throttles and lets go on from another terminal.
@Suite(.serialized, .timeLimit(.minutes(30))) struct `A run that a person pauses and throttles` {
    private static let simulator = try? RunningSimulator([
        "--customers", "600", "--seed", "23", "--drift", "0",
    ])

    /// With a request a second and 600 rows, a run outlasts any look at it.
    private func place(
        maxDuration: String = "20m"
    ) async throws -> Workplace {
        let simulator = try #require(Self.simulator)
        try await simulator.control("/_simulator/log/reset", method: "POST")
        let place = try Workplace(on: simulator)
        try place.writeSettings(apps: [
            simulator.appYAML().replacingOccurrences(
                of: "requests_per_second: 5000", with: "requests_per_second: 1")
        ])
        try place.writeJob("nightly", "max_duration: \(maxDuration)", steps: "[walk]")
        try #require(place.run("init").status == 0)
        let table = try String(
            contentsOfFile: try #require(simulator.ready.tableFile), encoding: .utf8)
        let lines = table.split(whereSeparator: \.isNewline).prefix(601)
        let file = try place.folder.write(lines.joined(separator: "\n") + "\n", to: "rows.csv")
        try #require(place.run("import", file).status == 0)
        return place
    }

    /// How many requests came to the simulator.
    private func arrived() async throws -> Int {
        let data = try await #require(Self.simulator).control("/_simulator/log")
        let log = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let endpoints = try #require(log["endpoints"] as? [String: Any], "\(log.keys)")
        return endpoints.values.compactMap { ($0 as? [String: Any])?["total"] as? Int }
            .reduce(0, +)
    }

    @Test func `is seen from another terminal, stands still when paused, and goes on`()
        async throws
    {
        let place = try await place()
        let run = try place.start("run", "nightly")
        let told = try place.until(run) { $0["done"] as? Int ?? 0 > 2 }
        #expect(told["stage"] as? String == "walk")
        #expect(told["total"] as? Int == 600)
        #expect((told["progress"] as? String)?.contains("of 600 rows asked") == true, "\(told)")

        let paused = try place.run("pause", "nightly")
        #expect(paused.status == 0, "\(paused.errors)")
        #expect(paused.output.contains("trueup resume nightly"), "\(paused.output)")
        try place.until(run) { $0["pause"] is [String: Any] }
        // Calls on their way end.
        try await Task.sleep(for: .seconds(2))
        let before = try await arrived()
        try await Task.sleep(for: .seconds(3))
        #expect(try await arrived() == before)
        let status = try place.run("status").output
        #expect(status.contains("paused since 20"), "\(status)")
        #expect(status.contains("continue: trueup resume nightly"), "\(status)")
        #expect(try place.run("pause", "nightly").output.contains("already"))
        #expect(run.process.isRunning)

        let resumed = try place.run("resume", "nightly")
        #expect(resumed.status == 0, "\(resumed.errors)")
        for _ in 0..<600 {
            if try await arrived() > before { break }
            try await Task.sleep(for: .milliseconds(100))
        }
        #expect(try await arrived() > before)
        run.send(signal: SIGTERM)
        let ended = run.wait()
        #expect(ended.status == 143, "\(ended.errors)")
        #expect(ended.errors.contains("To continue it: trueup resume nightly"), "\(ended.errors)")
        let log = try place.report("run.log.jsonl")
        #expect(log.contains("\"message\":\"pause.begun\""))
        let resumption = try #require(
            try place.reportLines("run.log.jsonl").first {
                $0["message"] as? String == "pause.ended"
            })
        #expect(resumption["by"] is String)
        #expect(resumption["since"] is String)
        #expect(try place.report("summary.txt").contains("Paused from 20"))
        #expect(try place.runningJob() == nil)
        let names = try FileManager.default.contentsOfDirectory(atPath: place.folder.url.path)
        #expect(!names.contains { $0.hasSuffix("-progress") || $0.hasSuffix("-orders") })
    }

    @Test func `asks as slowly as ordered, and no faster than configured`() async throws {
        let place = try await place()
        #expect(try place.run("throttle", "nightly", "0.5").status == 5)
        let run = try place.start("run", "nightly")
        try place.untilRowsAreDone(run)
        let throttled = try place.run("throttle", "nightly", "0.1")
        #expect(throttled.status == 0, "\(throttled.errors)")
        try place.until(run) { $0["throttle"] is [String: Any] }
        // Turns that were given before are taken back, at the latest when they come.
        try await Task.sleep(for: .seconds(12))
        let before = try await arrived()
        try await Task.sleep(for: .seconds(5))
        #expect(try await arrived() <= before + 1)
        #expect(try place.run("throttle", "nightly", "off").status == 0)
        run.send(signal: SIGTERM)
        #expect(run.wait().status == 143)
    }

    @Test func `ends by its deadline, paused or not`() async throws {
        let place = try await place(maxDuration: "30s")
        let run = try place.start("run", "nightly")
        try place.untilRowsAreDone(run)
        #expect(try place.run("pause", "nightly").status == 0)
        #expect(run.wait().status == 3)
        // Who reads the report must know why so little was asked.
        let messages = try #require(try place.summary()["messages"] as? [String])
        let told = try #require(messages.first { $0.hasPrefix("Paused from 20") }, "\(messages)")
        #expect(told.contains(" to the run's end by "), "\(told)")
        #expect(try place.report("run.log.jsonl").contains("\"message\":\"pause.ended\""))
        // What was ordered then is nothing to the next run.
        #expect(try place.run("run", "nightly", "--limit", "3").status == 0)
    }

    @Test func `is ended by a signal at once, and its pause ends with it`() async throws {
        let place = try await place()
        let run = try place.start("run", "nightly")
        let told = try place.until(run) { $0["done"] as? Int ?? 0 > 0 }
        #expect(try place.run("pause", "nightly").status == 0)
        try place.until(run) { $0["pause"] is [String: Any] }
        run.send(signal: SIGTERM)
        #expect(run.wait().status == 143)
        #expect(told["run_id"] is String)
        #expect(try place.run("pause", "nightly").status == 5)
    }

    @Test func `obeys no order that was given to a killed run`() async throws {
        let place = try await place()
        let run = try place.start("run", "nightly")
        try place.untilRowsAreDone(run)
        #expect(try place.run("pause", "nightly").status == 0)
        try place.until(run) { $0["pause"] is [String: Any] }
        run.send(signal: SIGKILL)
        _ = run.wait()
        #expect(try place.runningJob() == nil)
        #expect(try place.run("run", "nightly", "--limit", "3").status == 0)
    }

    @Test func `is only paused under its own name`() async throws {
        let place = try await place()
        let nobody = try place.run("pause", "nightly")
        #expect(nobody.status == 5)
        #expect(nobody.errors.contains("No job is running"), "\(nobody.errors)")
        let run = try place.start("run", "nightly")
        try place.until(run) { $0["run_id"] is String }
        let other = try place.run("pause", "backfill")
        #expect(other.status == 5)
        #expect(other.errors.contains("one of nightly"), "\(other.errors)")
        #expect(try place.run("resume", "nightly").output.contains("is not paused"))
        run.send(signal: SIGTERM)
        _ = run.wait()
    }
}
