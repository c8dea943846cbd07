import Foundation
import GRDB
import TestSupport
import Testing

/// Nights on which the plan is wrong as a whole, on the built executables.
@Suite(.serialized, .timeLimit(.minutes(30))) struct `A guard` {
    private static let exact = try? RunningSimulator([
        "--customers", "60", "--seed", "5", "--drift", "0",
    ])

    private func place(_ simulator: RunningSimulator?) async throws -> Workplace {
        let simulator = try #require(simulator)
        try await simulator.control("/_simulator/faults", method: "POST", body: "{\"faults\": []}")
        let place = try Workplace(on: simulator)
        try place.writeJob("nightly", steps: "[walk]")
        try #require(place.run("init").status == 0)
        let imported = try place.run("import", try #require(simulator.ready.tableFile))
        try #require(imported.status == 0, "\(imported.errors)")
        return place
    }

    private func limits(_ place: Workplace) throws -> [String] {
        try #require(try place.summary()["limits"] as? [String])
    }

    /// Runs the job and checks that exactly this guard stops it and nothing is written.
    private func expectStop(
        _ place: Workplace, by name: String, saying text: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let before = try place.rows()
        let run = try place.run("run", "nightly")
        #expect(run.status == 4, "\(run.errors)\n\(run.output)", sourceLocation: sourceLocation)
        #expect(try limits(place) == ["guard \(name)"], sourceLocation: sourceLocation)
        let messages = try #require(try place.summary()["messages"] as? [String])
        #expect(
            messages.contains { $0.contains("guard \(name): ") && $0.contains(text) },
            "\(messages)", sourceLocation: sourceLocation)
        #expect(
            messages.contains { $0.contains("--lift-guard \(name) --reason") },
            sourceLocation: sourceLocation)
        #expect(try place.rows() == before, sourceLocation: sourceLocation)
        #expect(
            try place.reportLines("corrections.jsonl").isEmpty, sourceLocation: sourceLocation)
    }

    @Test func `stops when everything has suddenly expired`() async throws {
        let place = try await place(Self.exact)
        try await place.simulator.control(
            "/_simulator/faults", method: "POST",
            body: #"{"faults": [{"fault": "everything_expired"}]}"#)
        try expectStop(place, by: "max_same_direction_share", saying: "ends access for")
        #expect(try place.report("plan.json").contains("\"fate\":\"planned\""))
        let check = try place.run("check", "nightly")
        #expect(check.status == 2)
        #expect(check.output.contains("guard max_same_direction_share"))
    }

    @Test func `stops when a table is eight hours off`() async throws {
        let place = try await place(Self.exact)
        try place.sql("UPDATE subscriptions SET expires_date = expires_date + 8 * 3600000")
        try expectStop(place, by: "max_own_fault", saying: "8 h later than Apple's")
    }

    @Test func `stops when seconds stand where milliseconds belong`() async throws {
        let place = try await place(Self.exact)
        try place.sql("UPDATE subscriptions SET expires_date = expires_date / 1000")
        try expectStop(place, by: "max_own_fault", saying: "divided by 1,000")
    }

    @Test func `stops when the table has lost its rows, until somebody lifts it`() async throws {
        let place = try await place(Self.exact)
        #expect(try place.run("run", "nightly").status == 0)
        let before = try place.rows().count
        try place.sql(
            """
            DELETE FROM subscriptions WHERE original_transaction_id NOT IN (
                SELECT original_transaction_id FROM subscriptions
                ORDER BY original_transaction_id LIMIT 7)
            """)
        // What was refused is no new measure, nor is what a check or a narrowed run has seen.
        try expectStop(place, by: "max_shrink_share", saying: "it had \(before)")
        #expect([0, 2].contains(try place.run("check", "nightly").status))
        #expect(try place.run("run", "nightly", "--limit", "2").status == 4)
        try expectStop(place, by: "max_shrink_share", saying: "it had \(before)")

        let lifted = try place.run(
            "run", "nightly", "--lift-guard", "max_shrink_share", "--lift-guard", "max_changes",
            "--reason", "the old region was moved away")
        #expect([0, 2].contains(lifted.status), "\(lifted.errors)\n\(lifted.output)")
        #expect(lifted.output.contains("GUARDS LIFTED"))
        let lifts = try #require(try place.summary()["lifted_guards"] as? [[String: Any]])
        #expect(lifts.map { $0["guard"] as? String } == ["max_changes", "max_shrink_share"])
        #expect(lifts.map { $0["was_necessary"] as? Bool } == [false, true])
        #expect(
            lifts.allSatisfy { $0["reason"] as? String == "the old region was moved away" })
        #expect(try place.report("manifest.json").contains("the old region was moved away"))
        #expect(try place.report("run.log.jsonl").contains("guard.lifted"))

        let next = try place.run("run", "nightly")
        #expect([0, 2].contains(next.status), "\(next.errors)\n\(next.output)")
        #expect(try (place.summary()["lifted_guards"] as? [Any])?.isEmpty == true)
    }

    @Test func `an emptied table is an alarm, a new one is merely empty`() async throws {
        let place = try await place(Self.exact)
        #expect(try place.run("run", "nightly").status == 0)
        try place.sql("DELETE FROM subscriptions")
        #expect(try place.run("run", "nightly").status == 4)
    }

    @Test func `is lifted for a run that writes only`() async throws {
        let place = try await place(Self.exact)
        try place.writeJob("audit", mode: "check")
        let run = try place.run("run", "audit", "--canary", "3")
        #expect(run.status == 64)
        #expect(run.errors.contains("mode: check"), "\(run.errors)")
    }
}

/// The second look at the first corrections.
@Suite(.serialized, .timeLimit(.minutes(30))) struct `A canary` {
    private static let simulator = try? RunningSimulator([
        "--customers", "150", "--seed", "11", "--drift", "0.2",
    ])

    private func place(faults: String = "") async throws -> Workplace {
        let simulator = try #require(Self.simulator)
        try await simulator.control(
            "/_simulator/faults", method: "POST", body: "{\"faults\": [\(faults)]}")
        let place = try Workplace(on: simulator)
        try place.writeJob("nightly", steps: "[walk]")
        try #require(place.run("init").status == 0)
        let imported = try place.run("import", try #require(simulator.ready.tableFile))
        try #require(imported.status == 0, "\(imported.errors)")
        return place
    }

    private static let signed: Set<String> = ["signed_date"]

    private func undisturbed() async throws -> Workplace {
        let place = try await place()
        #expect(try place.run("run", "nightly").status == 2)
        return place
    }

    private func corrected(_ place: Workplace) throws -> Set<String> {
        Set(
            try place.reportLines("corrections.jsonl").compactMap {
                $0["original_transaction_id"] as? String
            })
    }

    @Test func `that agrees lets the rest be written`() async throws {
        let plain = try await undisturbed()
        let place = try await place()
        let run = try place.run("run", "nightly", "--canary", "6")
        #expect(run.status == 2, "\(run.errors)\n\(run.output)")
        #expect(
            run.output.contains(
                "The canary agreed: the run asked Apple again about 6 corrected subscriptions"))
        #expect(try place.rows(without: Self.signed) == plain.rows(without: Self.signed))
        #expect(try corrected(place) == corrected(plain))
    }

    @Test func `larger than the plan is the whole plan`() async throws {
        let place = try await place()
        let run = try place.run("run", "nightly", "--canary", "10000")
        #expect(run.status == 2, "\(run.errors)\n\(run.output)")
        #expect(
            try run.output.contains(
                "The canary agreed: the run asked Apple again about \(corrected(place).count) "))
    }

    @Test func `that still differs stops the rest`() async throws {
        let place = try await place()
        let before = try place.rows()
        // A service of the company's that writes back what it had in its cache.
        try place.sql(
            """
            CREATE TRIGGER stale_cache AFTER UPDATE OF status ON subscriptions
            BEGIN
                UPDATE subscriptions SET status = OLD.status
                WHERE bundle_id = NEW.bundle_id AND environment = NEW.environment
                    AND original_transaction_id = NEW.original_transaction_id;
            END
            """)
        let run = try place.run("run", "nightly", "--canary", "20")
        #expect(run.status == 4, "\(run.errors)\n\(run.output)")
        #expect(run.output.contains("guard canary"))
        #expect(run.output.contains("trueup undo"))
        #expect(try place.summary()["limits"] as? [String] == ["guard canary"])
        let written = try corrected(place)
        #expect(written.count == 20)
        let rows = try place.rows()
        let changed = Set(
            rows.filter { before[$0.key] != $0.value }
                .compactMap { $0.value["original_transaction_id"] })
        #expect(changed == written)
        #expect(try place.report("plan.json").contains("\"fate\":\"planned\""))
    }

    @Test func `that was killed in between is looked at by the next run before it goes on`()
        async throws
    {
        let plain = try await undisturbed()
        let place = try await place()
        #expect(try place.run("check", "nightly").status == 2)
        let calls = try #require(try place.summary()["calls"] as? [String: [String: Int]])
        let asked = try #require(calls["subscription_statuses"]).values.reduce(0, +)
        // The second look hangs until the process is gone.
        try await place.simulator.control(
            "/_simulator/faults", method: "POST",
            body: """
                {"faults": [{"fault": "delay", "delay_ms": 20000, "endpoint": "statuses",
                    "skip": \(asked)}]}
                """)
        let running = try place.start("run", "nightly", "--canary", "5")
        let path = place.folder.url.appendingPathComponent("trueup.sqlite").path
        let database = try DatabaseQueue(path: path)
        var written = 0
        while written < 5, running.process.isRunning {
            usleep(20_000)
            written = try await database.read { db in
                try Int.fetchOne(
                    db,
                    sql: """
                        SELECT count(DISTINCT original_transaction_id) FROM trueup_ledger
                        """) ?? 0
            }
        }
        try database.close()
        running.send(signal: SIGKILL)
        #expect(running.wait().status == 137)
        #expect(written == 5)

        try await place.simulator.control(
            "/_simulator/faults", method: "POST", body: "{\"faults\": []}")
        let next = try place.run("run", "nightly")
        #expect(next.status == 2, "\(next.errors)\n\(next.output)")
        #expect(
            next.output.contains(
                "The canary agreed: the run asked Apple again about 5 corrected subscriptions"))
        #expect(try place.rows(without: Self.signed) == plain.rows(without: Self.signed))
        #expect(try corrected(place) == corrected(plain))
    }

    @Test func `without a verdict leaves the rest, and the next run looks again first`()
        async throws
    {
        let plain = try await undisturbed()
        let place = try await place()
        try place.writeJob("nightly", "max_outage: 5s", steps: "[walk]")
        #expect(try place.run("check", "nightly").status == 2)
        let calls = try #require(try place.summary()["calls"] as? [String: [String: Int]])
        let asked = try #require(calls["subscription_statuses"]).values.reduce(0, +)
        // Apple is out of reach from the end of the walk on.
        try await place.simulator.control(
            "/_simulator/faults", method: "POST",
            body: """
                {"faults": [{"fault": "error", "code": 5000001, "endpoint": "statuses",
                    "skip": \(asked)}]}
                """)
        let run = try place.run("run", "nightly", "--canary", "3")
        #expect(run.status == 3, "\(run.errors)\n\(run.output)")
        #expect(run.output.contains("canary could not be checked"), "\(run.output)")
        #expect(try corrected(place).count == 3)

        try await place.simulator.control(
            "/_simulator/faults", method: "POST", body: "{\"faults\": []}")
        let next = try place.run("run", "nightly")
        #expect(next.status == 2, "\(next.errors)\n\(next.output)")
        #expect(
            next.output.contains(
                "The canary agreed: the run asked Apple again about 3 corrected subscriptions"))
        #expect(try place.rows(without: Self.signed) == plain.rows(without: Self.signed))
    }

    @Test func `of a plan that got no verdict is looked at again by the next apply`() async throws {
        let place = try await place()
        #expect(try place.run("check", "nightly").status == 2)
        let plan = try place.folder.write(place.report("plan.json"), to: "plan.json")
        try await place.simulator.control(
            "/_simulator/faults", method: "POST",
            body: "{\"faults\": [{\"fault\": \"error\", \"code\": 5000000}]}")
        let first = try place.run("apply", plan, "--canary", "3")
        #expect([3, 69].contains(first.status), "\(first.errors)\n\(first.output)")
        #expect(!first.output.contains("No subscription row was changed"))
        #expect(first.output.contains("canary could not be checked"), "\(first.output)")
        #expect(try corrected(place).count == 3)

        try await place.simulator.control(
            "/_simulator/faults", method: "POST", body: "{\"faults\": []}")
        let next = try place.run("apply", plan)
        #expect(next.status == 0, "\(next.errors)\n\(next.output)")
        #expect(
            next.output.contains(
                "The canary agreed: the run asked Apple again about 3 corrected subscriptions"))
        #expect(!(try place.report("plan.json").contains("\"fate\":\"planned\"")))
    }
}
