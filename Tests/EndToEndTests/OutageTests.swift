import Foundation
import TestSupport
import Testing

/// Nights in which Apple does not answer, not everything, or not in time.
@Suite(.serialized, .timeLimit(.minutes(30))) struct `A night with outages` {
    private static let simulator = try? RunningSimulator([
        "--customers", "120", "--seed", "9", "--drift", "0",
    ])

    private static func ids() throws -> [String] {
        let table = try String(
            contentsOfFile: try #require(simulator?.ready.tableFile), encoding: .utf8)
        return table.split(whereSeparator: \.isNewline).dropFirst().compactMap {
            $0.split(separator: ",").first.map(String.init)
        }
    }

    /// A database with the exact table, and the faults in force.
    private func place(
        _ job: String = "", faults: String = "", rows: Int? = nil, ratePerSecond: Int = 5000,
        steps: String = "[walk]"
    ) async throws -> Workplace {
        let simulator = try #require(Self.simulator)
        try await simulator.control("/_simulator/faults", method: "POST", body: "{\"faults\": []}")
        let place = try Workplace(on: simulator)
        try place.writeSettings(apps: [
            simulator.appYAML().replacingOccurrences(
                of: "requests_per_second: 5000", with: "requests_per_second: \(ratePerSecond)")
        ])
        try place.writeJob("nightly", job, steps: steps)
        try #require(place.run("init").status == 0)
        let table = try String(
            contentsOfFile: try #require(simulator.ready.tableFile), encoding: .utf8)
        let lines = table.split(whereSeparator: \.isNewline)
        let kept = rows.map { lines.prefix($0 + 1) } ?? lines[...]
        let file = try place.folder.write(kept.joined(separator: "\n") + "\n", to: "rows.csv")
        try #require(place.run("import", file).status == 0)
        try await simulator.control(
            "/_simulator/faults", method: "POST", body: "{\"faults\": [\(faults)]}")
        return place
    }

    private func calls(_ place: Workplace) throws -> Int {
        let calls = try #require(try place.summary()["calls"] as? [String: [String: Int]])
        return calls.values.flatMap(\.values).reduce(0, +)
    }

    /// The ids and reasons of `undecided.csv`.
    private func undecided(_ place: Workplace) throws -> [(id: String, reason: String)] {
        let lines = try place.report("undecided.csv").split(whereSeparator: \.isNewline)
            .map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
        let header = try #require(lines.first)
        let id = try #require(header.firstIndex(of: "original_transaction_id"))
        let reason = try #require(header.firstIndex(of: "reason"))
        return lines.dropFirst().map { ($0[id], $0[reason]) }
    }

    @Test(arguments: [20, 10])
    func `a few bad ids keep nobody else from being judged, night after night`(every: Int)
        async throws
    {
        let ids = try Self.ids()
        let bad = Set(ids.enumerated().filter { $0.offset % every == 0 }.map(\.element))
        let list = bad.map { "\"\($0)\"" }.joined(separator: ", ")
        let place = try await place(
            faults: #"{"fault": "error", "code": 5000001, "ids": [\#(list)]}"#)
        for night in 1...3 {
            let run = try place.run("run", "nightly")
            #expect(run.status == 3, "night \(night): \(run.errors)\n\(run.output)")
            #expect(!run.errors.contains("does not work"), "\(run.errors)")
            let open = try undecided(place)
            #expect(!open.isEmpty && open.allSatisfy { bad.contains($0.id) }, "night \(night)")
            #expect(open.allSatisfy { $0.reason == "unavailable" })
            #expect(try calls(place) < ids.count + 6 * bad.count + 20)
        }
    }

    @Test func `the first ids of a table that all fail stop nobody else`() async throws {
        let place = try await place("max_outage: 90s")
        let ids = try Self.ids().sorted()
        let bad = Set(ids.prefix(70))
        let list = bad.map { "\"\($0)\"" }.joined(separator: ", ")
        try await #require(Self.simulator).control(
            "/_simulator/faults", method: "POST",
            body: #"{"faults": [{"fault": "error", "code": 5000001, "ids": [\#(list)]}]}"#)
        let run = try place.run("run", "nightly")
        #expect(run.status == 3, "\(run.errors)\n\(run.output)")
        let open = try undecided(place)
        #expect(!open.isEmpty && open.allSatisfy { bad.contains($0.id) }, "\(open.count) open")
        #expect(!run.errors.contains("gives it up"), "\(run.errors)")
    }

    @Test(arguments: [
        #"{"fault": "status", "status": 503, "body": "", "endpoint": "notification_history"}"#,
        #"{"fault": "error", "code": 5000001, "endpoint": "notification_history"}"#,
    ])
    func `a notification history that is out does not hold up the walk`(fault: String) async throws
    {
        let place = try await place("max_outage: 10m", faults: fault, steps: "[recover, walk]")
        let start = ContinuousClock.now
        let run = try place.run("run", "nightly")
        // Well before max_outage, however slow the machine is.
        #expect(ContinuousClock.now - start < .seconds(480))
        #expect(run.status == 3, "\(run.errors)\n\(run.output)")
        #expect(run.output.contains("was not read to its end"), "\(run.output)")
        #expect(try undecided(place).isEmpty)
        #expect(try watermarks(place) == 0)
    }

    @Test func `a notification history that comes back during the walk is read at its end`()
        async throws
    {
        let place = try await place(
            faults: #"{"fault": "status", "status": 503, "body": "", "#
                + #""endpoint": "notification_history", "count": 5}"#, steps: "[recover, walk]")
        let run = try place.run("run", "nightly")
        #expect(run.status == 0, "\(run.errors)\n\(run.output)")
        #expect(try watermarks(place) == 1)
    }

    private func watermarks(_ place: Workplace) throws -> Int {
        try place.stored("SELECT count(*) FROM trueup_watermarks").first?.first.flatMap { Int($0) }
            ?? -1
    }

    @Test func `an outage that ends costs nothing but time`() async throws {
        // A hundred questions may be on their way when it begins.
        let place = try await place(
            faults: #"{"fault": "status", "status": 503, "body": "", "count": 112}"#)
        let run = try place.run("run", "nightly")
        #expect(run.status == 0, "\(run.errors)\n\(run.output)")
        #expect(run.errors.contains("does not work"))
        #expect(run.errors.contains("tries again at"))
        #expect(run.errors.contains("works again"))
        #expect(try place.report("run.log.jsonl").contains("\"message\":\"outage\""))
        #expect(try undecided(place).isEmpty)
    }

    @Test(arguments: [403, 404])
    func `answers that are not Apple's end it with 69, and it says whose they are`(status: Int)
        async throws
    {
        let place = try await place(
            faults: #"{"fault": "status", "status": \#(status), "content_type": "text/html", "#
                + #""body": "<html><h1>Blocked by the firewall</h1></html>"}"#)
        let run = try place.run("run", "nightly")
        #expect(run.status == 69, "\(run.errors)\n\(run.output)")
        #expect(try calls(place) < 200)
        #expect(
            run.output.contains("answered \(status) (text/html) \"Blocked by the firewall\""),
            "\(run.output)")
        #expect(run.output.contains("127.0.0.1:"))
    }

    @Test func `answers that are not Apple's leave their own rows alone undecided`() async throws {
        let bad = try Self.ids().enumerated().filter { $0.offset % 9 == 0 }.map(\.element)
        let list = bad.map { "\"\($0)\"" }.joined(separator: ", ")
        let place = try await place(
            faults: #"{"fault": "status", "status": 403, "content_type": "text/html", "#
                + #""body": "<html></html>", "ids": [\#(list)]}"#)
        let run = try place.run("run", "nightly")
        #expect(run.status == 3, "\(run.errors)\n\(run.output)")
        let open = try undecided(place)
        #expect(!open.isEmpty && open.allSatisfy { bad.contains($0.id) })
        #expect(open.allSatisfy { $0.reason == "unavailable" })
    }

    @Test(arguments: [nil, 25])
    func `rows whose turn comes after the deadline are not reached, and the time is used`(
        rows: Int?
    ) async throws {
        let place = try await place(
            "max_duration: \(rows == nil ? 6 : 4)s", rows: rows,
            ratePerSecond: rows == nil ? 6 : 4)
        let run = try place.run("run", "nightly")
        #expect(run.status == 3, "\(run.errors)\n\(run.output)")
        #expect(try calls(place) >= (rows == nil ? 12 : 6))
        #expect(try place.summary()["limits"] as? [String] == ["max_duration"])
        let open = try undecided(place)
        #expect(!open.isEmpty && open.allSatisfy { $0.reason == "deadline" })
        #expect(run.output.contains("\(open.count) rows were not reached"), "\(run.output)")
        #expect(!run.output.contains("Not one call"))
    }

    @Test func `a history that is too long for the time leaves its row for the next run`()
        async throws
    {
        let place = try await place(
            "history: always\nmax_duration: 2s", rows: 40, ratePerSecond: 4)
        let run = try place.run("run", "nightly")
        #expect(run.status == 3, "\(run.errors)\n\(run.output)")
        #expect(try undecided(place).allSatisfy { $0.reason == "deadline" })
        #expect(!run.output.contains("not read to their end"), "\(run.output)")
    }

    @Test func `an outage is given up after max_outage, with few calls`() async throws {
        let place = try await place(
            "max_outage: 2s", faults: #"{"fault": "status", "status": 500, "body": ""}"#)
        let run = try place.run("run", "nightly")
        #expect(run.status == 69, "\(run.errors)\n\(run.output)")
        #expect(try calls(place) < 160)
        #expect(run.output.contains("max_outage"))
    }
}
