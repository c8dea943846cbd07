import Foundation
import TestSupport
import Testing

/// Apple's quota, shared by every process that works on one database.
@Suite(.serialized, .timeLimit(.minutes(30))) struct `A shared quota` {
    private static let simulator = try? RunningSimulator([
        "--customers", "40", "--seed", "21", "--drift", "0",
    ])
    /// Seven calls an hour.
    private static let seven = "0.00195"

    /// A database with so many exact rows, and a job that gives up soon; no fault is in force.
    private func place(
        rows: Int = 1, perSecond: String = seven, maxDuration: String = "5s"
    ) async throws -> Workplace {
        let simulator = try #require(Self.simulator)
        try await simulator.control("/_simulator/faults", method: "POST", body: "{\"faults\": []}")
        try await simulator.control("/_simulator/log/reset", method: "POST")
        let place = try Workplace(on: simulator)
        try place.writeSettings(apps: [
            simulator.appYAML().replacingOccurrences(
                of: "requests_per_second: 5000", with: "requests_per_second: \(perSecond)")
        ])
        try place.writeJob("nightly", "max_duration: \(maxDuration)", steps: "[walk]")
        try #require(place.run("init").status == 0)
        let table = try String(
            contentsOfFile: try #require(simulator.ready.tableFile), encoding: .utf8)
        let lines = table.split(whereSeparator: \.isNewline).prefix(rows + 1)
        let file = try place.folder.write(lines.joined(separator: "\n") + "\n", to: "rows.csv")
        try #require(place.run("import", file).status == 0)
        return place
    }

    /// How many requests of an endpoint came to the simulator.
    private func arrived(_ endpoint: String) async throws -> Int {
        let data = try await #require(Self.simulator).control("/_simulator/log")
        let log = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let endpoints = try #require(log["endpoints"] as? [String: Any], "\(log.keys)")
        return (endpoints[endpoint] as? [String: Any])?["total"] as? Int ?? 0
    }

    private func booked(_ place: Workplace) throws -> Int {
        let sum = try place.stored(
            """
            SELECT coalesce(sum(calls), 0) FROM trueup_quota_calls
            WHERE endpoint = 'subscription_statuses'
            """)
        return try #require(sum.first?.first.flatMap { Int($0) })
    }

    @Test func `holds for runs one after the other`() async throws {
        let place = try await place()
        var statuses: [Int32] = []
        for number in 1...10 {
            let run = try place.run(number.isMultiple(of: 2) ? "run" : "check", "nightly")
            statuses.append(run.status)
            guard run.status == 75 else { continue }
            #expect(run.errors.contains("have made all 7 calls that it allows"), "\(run.errors)")
            #expect(run.errors.contains("The next call is possible at 20"), "\(run.errors)")
            #expect(!run.output.contains("call is possible"), "\(run.output)")
            #expect(try place.report("run.log.jsonl").contains("\"message\":\"wait.begun\""))
        }
        #expect(statuses == [0, 0, 0, 0, 0, 0, 0, 75, 75, 75])
        #expect(try await arrived("statuses") == 7)
        #expect(try booked(place) == 7)
    }

    @Test func `is each database's own, also side by side`() async throws {
        let places = [try await place(), try await place()]
        for _ in 1...9 {
            let runs = try places.map { try $0.start("check", "nightly") }
            for run in runs { #expect([0, 75].contains(run.wait().status)) }
        }
        #expect(try await arrived("statuses") == 14)
        for place in places { #expect(try booked(place) == 7) }
    }

    @Test func `counts the calls of runs that were killed`() async throws {
        let place = try await place()
        let simulator = try #require(Self.simulator)
        for number in 1...9 {
            let isKilled = number.isMultiple(of: 2)
            try await simulator.control(
                "/_simulator/faults", method: "POST",
                body: isKilled
                    ? #"{"faults": [{"fault": "delay", "delay_ms": 60000}]}"# : "{\"faults\": []}")
            let before = try booked(place)
            let run = try place.start("check", "nightly")
            // Killed while its call is on the way, if it may make one at all.
            while isKilled, try booked(place) == before, run.process.isRunning {
                try await Task.sleep(for: .milliseconds(20))
            }
            if isKilled { run.send(signal: SIGKILL) }
            _ = run.wait()
        }
        try await simulator.control("/_simulator/faults", method: "POST", body: "{\"faults\": []}")
        #expect(try booked(place) == 7)
        #expect(try await arrived("statuses") <= 7)
        #expect(try place.run("check", "nightly").status == 75)
    }

    @Test func `counts the calls of doctor, which leaves the database as it is`() async throws {
        let place = try await place()
        let file = place.folder.url.appendingPathComponent("trueup.sqlite")
        let before = try Data(contentsOf: file)
        var last = try place.run("doctor")
        for _ in 2...10 {
            last = try place.run("doctor")
        }
        #expect(try await arrived("statuses") == 7)
        #expect(try Data(contentsOf: file) == before)
        // It has not asked, and a run would have to wait for longer than it may.
        #expect(last.status == 75, "\(last.output)")
        #expect(last.output.contains("made the 7 calls"), "\(last.output)")
    }

    @Test func `is used to its last call, and books what was made`() async throws {
        let place = try await place(rows: 30, perSecond: "5000", maxDuration: "4h")
        #expect(try place.run("run", "nightly").status == 0)
        let calls = try #require(try place.summary()["calls"] as? [String: [String: Int]])
        let made = calls["subscription_statuses"]?.values.reduce(0, +)
        #expect(try booked(place) == made)
        #expect(try await arrived("statuses") == made)
    }

    private func refused(seconds: Int) async throws {
        try await #require(Self.simulator).control(
            "/_simulator/faults", method: "POST",
            body: #"{"faults": [{"fault": "rate_limited", "retry_after": "unix_milliseconds", "#
                + #""wait_seconds": \#(seconds), "count": 1}]}"#)
    }

    @Test func `is waited for after a 429, and it is said until when`() async throws {
        let place = try await place(perSecond: "50", maxDuration: "10m")
        try await refused(seconds: 4)
        let run = try place.run("run", "nightly")
        #expect(run.status == 0, "\(run.errors)\n\(run.output)")
        let sentence = try #require(
            run.errors.firstMatch(of: /Apple answered 429.*run waits until (\S+Z)\./))
        #expect(!run.output.contains("The run waits until"))
        let lines = try place.reportLines("run.log.jsonl")
        let wait = try #require(lines.first { $0["message"] as? String == "wait.begun" })
        #expect(wait["until"] as? String == String(sentence.1))
        #expect(wait["reason"] as? String == "rate_limited")
        let rate = try #require(lines.first { $0["message"] as? String == "rate.changed" })
        #expect(rate["calls_per_second"] as? String == "25.0")
    }

    @Test func `is waited for in silence when told so, but not in the log`() async throws {
        let place = try await place(perSecond: "50", maxDuration: "10m")
        try await refused(seconds: 2)
        let run = try place.run("run", "nightly", "--quiet")
        #expect(run.status == 0, "\(run.errors)\n\(run.output)")
        #expect(!run.errors.contains("429"), "\(run.errors)")
        #expect(try place.report("run.log.jsonl").contains("\"message\":\"wait.begun\""))
    }

    @Test func `is left alone by the next run until the time that Apple said`() async throws {
        let place = try await place(perSecond: "50", maxDuration: "5s")
        try await refused(seconds: 1800)
        #expect(try place.run("run", "nightly").status == 75)
        #expect(try await arrived("statuses") == 1)
        let next = try place.run("run", "nightly")
        #expect(next.status == 75, "\(next.errors)")
        #expect(next.errors.contains("Apple answered 429"), "\(next.errors)")
        #expect(try await arrived("statuses") == 1)
    }
}
