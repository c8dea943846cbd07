import Foundation
import TestSupport
import Testing

/// Sequences of runs after which what an earlier one left is nobody's own any more.
@Suite(.timeLimit(.minutes(30))) struct `What a run leaves to others` {
    private func place(_ kinds: String) throws -> Workplace {
        let simulator = try RunningSimulator([
            "--customers", "30", "--seed", "11", "--drift", "0.4", "--drift-kinds", kinds,
        ])
        let place = try Workplace(on: simulator)
        try #require(place.run("init").status == 0)
        try #require(place.run("import", try #require(simulator.ready.tableFile)).status == 0)
        return place
    }

    /// What the newest report tells as missed, by the notification's UUID.
    private func missed(_ place: Workplace) throws -> [String: String] {
        var told: [String: String] = [:]
        for finding in try place.reportLines("discrepancies.jsonl")
        where finding["kind"] as? String == "notification_missed" {
            let uuid = try #require(finding["field"] as? String)
            told[uuid] = finding["state"] as? String
        }
        return told
    }

    @Test func `missed notifications of a killed run are told by the next run of another job`()
        async throws
    {
        let place = try place("notification_missed,expiry")
        try place.writeJob("recover", "settle: 0s", steps: "[recover]")
        try place.writeJob("nightly", "settle: 0s")
        try await place.simulator.control(
            "/_simulator/faults", method: "POST",
            body: #"""
                {"faults": [{"fault": "delay", "delay_ms": 60000, "endpoint": "statuses"}]}
                """#)
        let killed = try place.start("run", "recover")
        let found = """
            SELECT field FROM trueup_pass_findings
            WHERE kind = 'notification_missed' AND superseded_by IS NULL
            """
        for _ in 0..<6000 {
            guard try place.stored(found).isEmpty else { break }
            usleep(10_000)
        }
        killed.send(signal: SIGKILL)
        #expect(killed.wait().status == 137)
        let pending = Set(try place.stored(found).compactMap(\.first))
        try #require(!pending.isEmpty)
        try await place.simulator.control(
            "/_simulator/faults", method: "POST", body: #"{"faults": []}"#)

        #expect([0, 2].contains(try place.run("run", "nightly").status))
        let told = try missed(place)
        #expect(pending.isSubset(of: told.keys))
        #expect(Set(told.values) == ["corrected"])
        #expect([0, 2].contains(try place.run("run", "nightly").status))
        #expect(try missed(place).isEmpty)
        #expect([0, 2, 5].contains(try place.run("run", "recover").status))
        #expect(try missed(place).isEmpty)
        let verified = try place.run("verify")
        #expect(verified.status == 0, "\(verified.output)")
    }

    @Test func `what was only reported is corrected once its column is Apple's again`() throws {
        let place = try place("expiry")
        func job(_ line: String) throws {
            try place.folder.write(
                """
                steps: [recover, walk]
                mode: apply
                coverage: delta
                sample: 0
                settle: 0s
                \(line)
                guards: {max_changes: 100000, max_change_share: 1, max_not_found_share: 1}

                """, to: "jobs/nightly.yaml")
        }
        func expiries() throws -> [String] {
            try place.reportLines("discrepancies.jsonl")
                .filter { $0["kind"] as? String == "expiry" }
                .map { "\($0["state"] as? String ?? "") \($0["action"] as? String ?? "")" }
        }
        try job("authority: {expires_date: report-only}")
        #expect(try place.run("run", "nightly").status == 2)
        let first = try expiries()
        try #require(!first.isEmpty)
        #expect(Set(first) == ["new none"])
        #expect(try place.run("run", "nightly").status == 2)
        #expect(Set(try expiries()) == ["open none"])
        try job("")
        #expect(try place.run("run", "nightly").status == 0)
        #expect(try expiries() == first.map { _ in "corrected corrected" })
    }

    @Test(arguments: [[], ["--limit", "100000"]])
    func `a row that the company mends after a check is looked at the next night`(
        filters: [String]
    ) throws {
        let place = try place("expiry")
        try place.folder.write(
            """
            steps: [recover, walk]
            mode: apply
            coverage: delta
            sample: 0
            settle: 0s
            guards: {max_changes: 100000, max_change_share: 1, max_not_found_share: 1}

            """, to: "jobs/nightly.yaml")
        #expect(try place.run("run", "nightly").status == 0)
        // No clock asks about ended ones, and the sweep comes to them after half a year.
        func write(days: Int) throws {
            try place.sql(
                "UPDATE subscriptions SET expires_date = expires_date + \(days) * 86400000 "
                    + "WHERE status = 2")
        }
        try write(days: 3)
        #expect(try place.run(["check", "nightly"] + filters).status == 2)
        try #require(!place.reportLines("discrepancies.jsonl").isEmpty)
        try write(days: -3)
        let night = try place.run("run", "nightly")
        #expect(night.status == 0, "\(night.output)")
        #expect(try place.reportLines("discrepancies.jsonl").isEmpty)
    }
}
