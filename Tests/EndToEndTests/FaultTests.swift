import Foundation
import TestSupport
import Testing

/// A whole night against an App Store that misbehaves in one way (faults.md of the design).
///
/// Whatever happens: no row is changed by it, the tie-out adds up, the exit status tells.
@Suite(.serialized, .timeLimit(.minutes(30))) struct `A night with faults` {
    private static let simulator = try? RunningSimulator([
        "--customers", "60", "--seed", "5", "--drift", "0",
    ])

    /// A database with the exact table, and the faults in force.
    private func place(_ faults: String, only rows: Int? = nil) async throws -> Workplace {
        let simulator = try #require(Self.simulator)
        try await simulator.control("/_simulator/faults", method: "POST", body: "{\"faults\": []}")
        try await simulator.control("/_simulator/log/reset", method: "POST", body: "{}")
        let place = try Workplace(on: simulator)
        try place.writeJob("nightly", steps: "[walk]")
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

    /// Runs the job and checks what must hold whatever the fault.
    private func night(
        _ place: Workplace, expecting status: Int32,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> [String: Any] {
        let before = try place.rows()
        let run = try place.run("run", "nightly")
        #expect(
            run.status == status, "\(run.errors)\n\(run.output)", sourceLocation: sourceLocation)
        #expect(try place.rows() == before, sourceLocation: sourceLocation)
        let totals = try #require(
            try place.summary()["totals"] as? [String: Any], sourceLocation: sourceLocation)
        let parts = ["matched", "discrepant", "undecided", "excluded"].map {
            totals[$0] as? Int ?? -1
        }
        #expect(parts.reduce(0, +) == before.count, sourceLocation: sourceLocation)
        #expect(totals["in_scope"] as? Int == before.count, sourceLocation: sourceLocation)
        return totals
    }

    private func kinds(_ place: Workplace) throws -> Set<String> {
        Set(try place.reportLines("discrepancies.jsonl").compactMap { $0["kind"] as? String })
    }

    @Test(arguments: [
        #"{"fault": "error", "code": 5000001, "count": 8}"#,
        #"{"fault": "error", "code": 4040002, "count": 5}"#,
        #"{"fault": "status", "status": 503, "body": "down", "count": 5}"#,
        #"{"fault": "reset", "after_bytes": 300, "count": 3}"#,
        #"{"fault": "delay", "delay_ms": 400, "count": 5}"#,
        #"{"fault": "rate_limited", "retry_after": "unix_milliseconds", "wait_seconds": 2, "count": 1}"#,
        #"{"fault": "rate_limited", "retry_after": "delay_seconds", "wait_seconds": 2, "count": 1}"#,
        #"{"fault": "rate_limited", "retry_after": "http_date", "wait_seconds": 2, "count": 1}"#,
        #"{"fault": "rate_limited", "retry_after": "garbage", "count": 1}"#,
        #"{"fault": "rate_limited", "retry_after": "missing", "count": 1}"#,
        #"{"fault": "rate_limited", "retry_after": "past", "count": 1}"#,
        #"{"fault": "unauthorized", "count": 1}"#,
        #"{"fault": "error", "code": 5000000, "count": 1}"#,
    ])
    func `a fault that passes leaves no trace`(fault: String) async throws {
        let place = try await place(fault)
        let totals = try night(place, expecting: 0)
        #expect(totals["undecided"] as? Int == 0)
        #expect(try kinds(place).isEmpty)
    }

    @Test func `one id that always fails is undecided, and 5000000 is asked twice at most`()
        async throws
    {
        let simulator = try #require(Self.simulator)
        let id = try #require(
            try String(contentsOfFile: simulator.ready.tableFile ?? "", encoding: .utf8)
                .split(whereSeparator: \.isNewline).dropFirst().first?.split(separator: ",").first)
        let place = try await place(
            #"{"fault": "error", "code": 5000000, "ids": ["\#(id)"]}"#, only: 3)
        let totals = try night(place, expecting: 3)
        #expect((totals["undecided"] as? Int ?? 0) >= 1)
        #expect(try place.report("undecided.csv").contains("unavailable"))
        let log = try JSONSerialization.jsonObject(with: await simulator.control("/_simulator/log"))
        let endpoints = try #require(
            (log as? [String: Any])?["endpoints"] as? [String: [String: Any]])
        let asked = endpoints.values.compactMap { ($0["ids"] as? [String: Int])?[String(id)] }
        #expect((1...2).contains(asked.reduce(0, +)), "\(asked)")
    }

    @Test(arguments: [
        #"{"fault": "html"}"#, #"{"fault": "wrong_types"}"#, #"{"fault": "endless"}"#,
        #"{"fault": "redirect", "location": "https://127.0.0.1:9/"}"#,
    ])
    func `answers that nobody can read end the run with 76`(fault: String) async throws {
        let place = try await place(fault, only: 12)
        _ = try night(place, expecting: 76)
        #expect(try place.report("undecided.csv").contains("undecodable"))
    }

    @Test func `a key that is refused for good ends it with 77, after few calls`() async throws {
        let place = try await place(#"{"fault": "unauthorized"}"#)
        _ = try night(place, expecting: 77)
        #expect(try kinds(place).isEmpty)
    }

    @Test(arguments: [
        "bad_signature", "alg_none", "expired_leaf", "wrong_leaf_oid", "wrong_intermediate_oid",
        "foreign_root", "two_certificates", "four_certificates", "swapped_renewal",
    ])
    func `a broken signature is critical and writes nothing`(fault: String) async throws {
        let place = try await place(#"{"fault": "\#(fault)"}"#, only: 4)
        let totals = try night(place, expecting: 3)
        #expect(totals["matched"] as? Int == 0)
        #expect(try kinds(place) == ["verification_failed"])
    }

    @Test func `too many broken signatures end it with 76`() async throws {
        let place = try await place(#"{"fault": "bad_signature"}"#)
        _ = try night(place, expecting: 76)
    }

    @Test(arguments: [("other_bundle", "wrong_app"), ("other_environment", "wrong_environment")])
    func `a payload for somebody else is named as such`(fault: String, kind: String) async throws {
        let place = try await place(#"{"fault": "\#(fault)"}"#, only: 4)
        let totals = try night(place, expecting: 2)
        #expect(totals["discrepant"] as? Int ?? 0 > 0)
        #expect(try kinds(place) == [kind])
    }

    @Test func `an empty answer is not an expired subscription`() async throws {
        let place = try await place(#"{"fault": "empty_data"}"#)
        let totals = try night(place, expecting: 3)
        #expect(totals["matched"] as? Int == 0)
        #expect(try place.report("undecided.csv").contains("no_subscription_in_answer"))
    }

    @Test func `another customer's answer is believed by nobody`() async throws {
        let place = try await place(
            #"{"fault": "other_customer", "endpoint": "statuses"}"#, only: 6)
        _ = try night(place, expecting: 3)
        #expect(try place.report("undecided.csv").contains("id_not_in_answer"))
        #expect(try place.reportLines("corrections.jsonl").isEmpty)
    }

    @Test func `a status that contradicts its signature changes nothing`() async throws {
        let place = try await place(#"{"fault": "contradicting_status"}"#, only: 8)
        _ = try night(place, expecting: 3)
        #expect(try kinds(place) == ["contradiction"])
    }

    @Test func `a status of tomorrow leaves the row undecided`() async throws {
        let place = try await place(#"{"fault": "unknown_status"}"#, only: 8)
        _ = try night(place, expecting: 3)
        #expect(try kinds(place) == ["unknown_value"])
    }

    @Test func `an old statement never overwrites a newer row`() async throws {
        let place = try await place(#"{"fault": "old_statement"}"#, only: 8)
        _ = try night(place, expecting: 3)
        #expect(try place.report("undecided.csv").contains("newer_locally"))
    }

    @Test func `when everybody is expired or gone at once, the guards hold`() async throws {
        for fault in [#"{"fault": "everything_expired"}"#, #"{"fault": "error", "code": 4040010}"#]
        {
            let place = try await place(fault)
            try place.writeJob(
                "nightly", steps: "[walk]",
                guards: "max_changes: 500, max_change_share: 0.05, max_not_found_share: 0.01")
            _ = try night(place, expecting: 4)
            #expect(try place.reportLines("corrections.jsonl").isEmpty)
        }
    }

    // Parts of a day hold two pages here at most, so no token is needed a second time: a token that
    // repeats keeps nothing back. Longer chains: `NotificationSweepTests`.
    @Test(arguments: [("has_more_forever", true), ("repeated_token", false)])
    func `a notification history without end is not read for ever`(
        fault: String, isEndless: Bool
    ) async throws {
        let place = try await place(
            #"{"fault": "\#(fault)", "endpoint": "notification_history"}"#, only: 4)
        try place.writeJob("nightly", "max_duration: 2m", steps: "[recover]")
        let run = try place.run("run", "nightly")
        #expect(run.status == (isEndless ? 3 : 2), "\(run.errors)\n\(run.output)")
        #expect(run.output.contains("was not read to its end") == isEndless)
    }

    @Test func `a wait for the quota that passes the deadline ends it with 75`() async throws {
        let place = try await place(
            #"{"fault": "rate_limited", "retry_after": "unix_milliseconds", "wait_seconds": 1800}"#)
        try place.writeJob("nightly", "max_duration: 20s", steps: "[walk]")
        _ = try night(place, expecting: 75)
    }
}
