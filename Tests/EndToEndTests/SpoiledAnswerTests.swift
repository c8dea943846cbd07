import Foundation
import TestSupport
import Testing

/// A customer is locked out, and Apple's answer that should have fixed it is wrong once.
@Suite(.serialized, .timeLimit(.minutes(30))) struct `A row whose answer was wrong once` {
    private static let simulator = try? RunningSimulator([
        "--customers", "40", "--seed", "3", "--drift", "0", "--now", "2026-01-01T02:00:00Z",
    ])

    static let spoiled = [
        #""fault": "other_bundle""#, #""fault": "other_environment""#,
        #""fault": "error", "code": 4000006"#, #""fault": "error", "code": 4040001"#,
        #""fault": "error", "code": 4040010"#,
    ]

    private static func time(day: Int, hour: Int = 3) -> String {
        String(format: "2026-01-%02dT%02d:00:00Z", 1 + day, hour)
    }

    /// A judged table, in which the company then wrote that one running subscription has expired.
    private func place(
        _ job: String = "coverage: delta", on simulator: RunningSimulator? = simulator
    ) async throws -> (Workplace, id: String) {
        let simulator = try #require(simulator)
        try await simulator.control("/_simulator/faults", method: "POST", body: "{\"faults\": []}")
        let place = try Workplace(on: simulator)
        try place.folder.write(
            """
            steps: [recover, walk]
            mode: apply
            \(job)
            sample: 0
            settle: 0s
            guards: {max_changes: 100000, max_change_share: 1, max_not_found_share: 1,
                max_same_direction_share: 1}

            """, to: "jobs/nightly.yaml")
        try #require(place.run("init").status == 0)
        try #require(place.run("import", try #require(simulator.ready.tableFile)).status == 0)
        let first = try place.run("run", "nightly", "--now", Self.time(day: 0))
        try #require(first.status == 0, "\(first.output)\(first.errors)")
        let ids = try place.stored(
            """
            SELECT original_transaction_id FROM subscriptions WHERE status = 1
                AND customer_id IN (SELECT customer_id FROM subscriptions
                    GROUP BY customer_id HAVING count(*) = 1)
                AND expires_date > 1772323200000
            ORDER BY original_transaction_id LIMIT 1
            """)
        let id = try #require(ids.first?.first)
        try place.sql("UPDATE subscriptions SET status = 2 WHERE original_transaction_id = '\(id)'")
        return (place, id)
    }

    private func spoil(
        _ fault: String, _ id: String, count: Int? = 1, on place: Workplace
    ) async throws {
        let limit = count.map { ", \"endpoint\": \"statuses\", \"count\": \($0)" } ?? ""
        try await place.simulator.control(
            "/_simulator/faults", method: "POST",
            body: """
                {"faults": [{\(fault), "ids": ["\(id)"]\(limit)}]}
                """)
    }

    private func status(of id: String, _ place: Workplace) throws -> String? {
        try place.rows().values.first { $0["original_transaction_id"] == id }?["status"]
    }

    private func advance(_ simulator: RunningSimulator, to time: String) async throws {
        try await simulator.control(
            "/_simulator/advance", method: "POST", body: "{\"to\": \"\(time)\"}")
    }

    /// How often Apple was asked about an id since the log was reset.
    private func asked(_ id: String, _ place: Workplace) async throws -> Int {
        let log = try JSONSerialization.jsonObject(
            with: await place.simulator.control("/_simulator/log"))
        let endpoints = (log as? [String: Any])?["endpoints"] as? [String: [String: Any]]
        let ids = endpoints?["statuses"]?["ids"] as? [String: Int]
        try await place.simulator.control("/_simulator/log/reset", method: "POST", body: "{}")
        return ids?[id] ?? 0
    }

    /// Each fault, and for a signed and an unsigned one a run of another kind before the next one.
    static let spoiledWithRunBetween =
        spoiled.map { ($0, []) }
        + [
            (spoiled[0], ["check"]), (spoiled[3], ["check"]), (spoiled[0], ["run"]),
            (spoiled[3], ["run"]),
        ]

    @Test(arguments: spoiledWithRunBetween)
    func `is corrected by the next run`(fault: String, between: [String]) async throws {
        let (place, id) = try await place()
        try await spoil(fault, id, on: place)
        let night = try place.run("run", "nightly", "--now", Self.time(day: 0, hour: 4))
        #expect([0, 2].contains(night.status), "\(night.output)\(night.errors)")
        #expect(try status(of: id, place) == "2")
        // It is told, whatever the exit status is.
        let said = try #require(try place.summary()["messages"] as? [String])
        #expect(said.contains { $0.contains("may be wrong once") }, "\(said)")
        let found = try place.reportLines("discrepancies.jsonl").filter {
            $0["original_transaction_id"] as? String == id
        }
        #expect(found.contains { $0["state"] as? String == "new" }, "\(found)")
        if between == ["check"] {
            // Spoiled for a check as well, which takes nothing off the agenda.
            try await spoil(fault, id, on: place)
            let check = try place.run("check", "nightly", "--now", Self.time(day: 0, hour: 5))
            #expect([0, 2].contains(check.status), "\(check.output)\(check.errors)")
        } else if !between.isEmpty {
            try await spoil(fault, id, on: place)
            let run = try place.run(
                "run", "nightly", "--limit", "3", "--now", Self.time(day: 0, hour: 5))
            #expect([0, 2].contains(run.status), "\(run.output)\(run.errors)")
        }
        let next = try place.run("run", "nightly", "--now", Self.time(day: 0, hour: 6))
        #expect(next.status == 0, "\(next.output)\(next.errors)")
        #expect(try status(of: id, place) == "1")
        #expect(try place.stored("SELECT * FROM trueup_agenda").isEmpty)
        #expect(try place.run("verify").status == 0)
    }

    @Test(arguments: spoiled)
    func `is corrected after a run that was killed with it`(fault: String) async throws {
        let (place, id) = try await place("coverage: full")
        let others = try place.stored(
            """
            SELECT original_transaction_id FROM subscriptions
            WHERE original_transaction_id > '\(id)' ORDER BY 1 DESC LIMIT 3
            """
        ).joined()
        try await place.simulator.control(
            "/_simulator/faults", method: "POST",
            body: """
                {"faults": [{\(fault), "ids": ["\(id)"], "endpoint": "statuses", "count": 1},
                    {"fault": "delay", "delay_ms": 60000, "count": 3, "endpoint": "statuses",
                        "ids": [\(others.map { "\"\($0)\"" }.joined(separator: ", "))]}]}
                """)
        let running = try place.start("run", "nightly", "--now", Self.time(day: 0, hour: 4))
        let end = Date().addingTimeInterval(60)
        while Date() < end,
            try place.stored(
                """
                SELECT 1 FROM trueup_pass_rows WHERE original_transaction_id = '\(id)'
                    AND pass_id = (SELECT max(pass_id) FROM trueup_passes) AND verdict <> 0
                """
            ).isEmpty
        {
            usleep(50_000)
        }
        running.send(signal: SIGKILL)
        _ = running.wait()
        try await place.simulator.control(
            "/_simulator/faults", method: "POST", body: "{\"faults\": []}")
        for hour in [5, 6] {
            let night = try place.run("run", "nightly", "--now", Self.time(day: 0, hour: hour))
            #expect([0, 2].contains(night.status), "\(night.output)\(night.errors)")
            if !fault.contains("4040010") {
                #expect(try status(of: id, place) == "1", "\(hour)")
            }
        }
        #expect(try status(of: id, place) == "1")
    }

    /// A signed answer and an unsigned one: which faults count as wrong once is tested above.
    @Test(arguments: [spoiled[0], spoiled[3]])
    func `is asked about in three more runs, then once a week, until it is right`(
        fault: String
    ) async throws {
        let simulator = try RunningSimulator([
            "--customers", "12", "--seed", "3", "--drift", "0", "--now", "2026-01-01T02:00:00Z",
        ])
        let (place, id) = try await place(on: simulator)
        try await spoil(fault, id, count: nil, on: place)
        _ = try await asked(id, place)
        var nights: [Int] = []
        for day in 1...11 {
            try await advance(simulator, to: Self.time(day: day, hour: 2))
            let night = try place.run("run", "nightly", "--now", Self.time(day: day))
            #expect([0, 2].contains(night.status), "\(night.output)\(night.errors)")
            if try await asked(id, place) > 0 { nights.append(day) }
            let open = try place.reportLines("discrepancies.jsonl").filter {
                $0["original_transaction_id"] as? String == id
            }
            #expect(!open.isEmpty, "day \(day)")
        }
        // Whatever else speaks for it may ask in between, a sweep or a notification.
        #expect(nights.starts(with: [1, 2, 3, 4]) && !nights.contains(5), "\(nights)")
        #expect(nights.contains { (6...11).contains($0) }, "\(nights)")
        try await place.simulator.control(
            "/_simulator/faults", method: "POST", body: "{\"faults\": []}")
        for day in 12...18 {
            try await advance(simulator, to: Self.time(day: day, hour: 1))
            // An hour earlier than the week before.
            let night = try place.run("run", "nightly", "--now", Self.time(day: day, hour: 2))
            #expect([0, 2].contains(night.status), "\(night.output)\(night.errors)")
        }
        // Within a week; whatever happened to it since, the row agrees with Apple and is not pending.
        #expect(
            try place.stored(
                "SELECT * FROM trueup_agenda WHERE original_transaction_id = '\(id)'"
            ).isEmpty)
        let open = try place.reportLines("discrepancies.jsonl").filter {
            $0["original_transaction_id"] as? String == id
        }
        #expect(open.isEmpty, "\(open)")
    }

    @Test(arguments: spoiled + [#""fault": "empty_data""#])
    func `is inserted where a notification named it and no row holds it`(
        fault: String
    ) async throws {
        let (place, id) = try await place()
        let other = try #require(
            try place.stored(
                """
                SELECT original_transaction_id FROM subscriptions WHERE customer_id IN (
                    SELECT customer_id FROM subscriptions GROUP BY customer_id HAVING count(*) = 2)
                ORDER BY 1 LIMIT 1
                """
            ).first?.first)
        try place.sql(
            """
            DELETE FROM subscriptions WHERE original_transaction_id = '\(other)';
            """)
        try place.sql(
            """
            INSERT INTO trueup_agenda (bundle_id, environment, original_transaction_id, reason, turn,
                since) VALUES ('\(place.simulator.ready.bundleID)', 'Production', '\(other)', 0, 0, 0)
            """)
        try await spoil(fault, other, on: place)
        for hour in [4, 5] {
            let night = try place.run("run", "nightly", "--now", Self.time(day: 0, hour: hour))
            #expect([0, 2, 3].contains(night.status), "\(night.output)\(night.errors)")
        }
        #expect(try status(of: other, place) != nil)
        #expect(try status(of: id, place) == "1")
    }

    @Test func `is asked again though the answer is older than the notification`() async throws {
        let (place, id) = try await place()
        // Apple's notification of an hour ago is what the question rests on.
        let signed = 1_767_236_400_000
        try place.sql(
            """
            INSERT INTO trueup_agenda (bundle_id, environment, original_transaction_id, reason, turn,
                since, rests_on)
            VALUES ('\(place.simulator.ready.bundleID)', 'Production', '\(id)', 0, 0, 0,
                \(signed + 86_400_000 * 30))
            """)
        let night = try place.run("run", "nightly", "--now", Self.time(day: 0, hour: 4))
        #expect([0, 2].contains(night.status), "\(night.output)\(night.errors)")
        #expect(
            try !place.stored(
                "SELECT * FROM trueup_agenda WHERE original_transaction_id = '\(id)'"
            ).isEmpty)
    }
}
