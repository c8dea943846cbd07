import Foundation
import TestSupport
import Testing

/// A run that judged nothing, or only a part, never looks like one that found all well.
@Suite(.serialized, .timeLimit(.minutes(30))) struct `A false green` {
    private static let simulator = try? RunningSimulator([
        "--customers", "60", "--seed", "7", "--drift", "0.05",
    ])

    private func place() throws -> Workplace {
        let simulator = try #require(Self.simulator)
        let place = try Workplace(on: simulator)
        try #require(place.run("init").status == 0)
        let imported = try place.run("import", try #require(simulator.ready.tableFile))
        try #require(imported.status == 0, "\(imported.errors)")
        return place
    }

    private func totals(_ place: Workplace) throws -> [String: Int] {
        try #require(try place.summary()["totals"] as? [String: Any])
            .compactMapValues { $0 as? Int }
    }

    private func calls(_ place: Workplace) throws -> Int {
        try #require(try place.summary()["calls"] as? [String: [String: Int]]).values
            .flatMap(\.values).reduce(0, +)
    }

    /// The rows as they are, under settings of another app.
    private func misconfigured(_ settings: String) throws -> Workplace {
        let place = try place()
        try place.writeSettings(apps: [settings])
        try place.writeJob("nightly", steps: "[walk]")
        try place.writeJob("audit", steps: "[walk]", mode: "check")
        return place
    }

    private func expectNothingJudged(_ place: Workplace) throws {
        let rows = try place.rows().count
        for (job, status) in [("audit", Int32(3)), ("nightly", 4)] {
            let run = try place.run("run", job)
            #expect(run.status == status, "\(run.errors)\n\(run.output)")
            #expect(run.output.contains("0 of \(rows) rows checked"), "\(run.output)")
            #expect(run.output.contains("max_excluded_share"), "\(run.output)")
            #expect(try calls(place) == 0)
        }
        let lifted = try place.run(
            "run", "nightly", "--lift-guard", "max_excluded_share", "--reason", "known")
        #expect(lifted.status == 3, "\(lifted.errors)\n\(lifted.output)")
        let outcome = try #require(try place.summary()["outcome"] as? [String: Any])
        #expect(outcome["exit_status"] as? Int == 3)
    }

    @Test func `is not made of production rows under a sandbox app, and costs no call`() throws {
        let simulator = try #require(Self.simulator)
        let place = try misconfigured(simulator.appYAML(environment: "sandbox"))
        try expectNothingJudged(place)
        let doctor = try place.run("doctor")
        // As the run does: its guard stops it.
        #expect(doctor.status == 4, "\(doctor.output)")
        #expect(doctor.output.contains("Production"), "\(doctor.output)")
    }

    @Test func `is not made of another app's rows, nor of sandbox rows`() throws {
        let simulator = try #require(Self.simulator)
        let place = try misconfigured(simulator.appYAML())
        for sql in [
            "UPDATE subscriptions SET bundle_id = 'com.example.another'",
            """
            UPDATE subscriptions SET bundle_id = '\(simulator.ready.bundleID)',
                environment = 'Sandbox'
            """,
        ] {
            try place.sql("DELETE FROM subscriptions WHERE bundle_id LIKE '%.other'")
            try place.sql(sql)
            try expectNothingJudged(place)
        }
    }

    @Test func `is not made of rows that are all in flight`() throws {
        let place = try place()
        try place.writeJob("nightly", "settle: 3650d", steps: "[walk]")
        let run = try place.run("run", "nightly")
        #expect(run.status == 4, "\(run.errors)\n\(run.output)")
        #expect(run.output.contains("max_excluded_share"))
        #expect(try totals(place)["matched"] == 0)
    }

    @Test func `is not seen in the run right after corrections`() throws {
        let place = try place()
        #expect([0, 2].contains(try place.run("run", "nightly").status))
        let next = try place.run("run", "nightly")
        #expect([0, 2].contains(next.status), "\(next.errors)\n\(next.output)")
        #expect(try place.reportLines("corrections.jsonl").isEmpty)
    }

    @Test func `doctor counts the rows of each app against the settings`() throws {
        let place = try place()
        try place.sql(
            """
            INSERT INTO subscriptions (bundle_id, environment, original_transaction_id)
            VALUES ('com.example.another', 'Production', '2000000000000001')
            """)
        let doctor = try place.run("doctor", "--json")
        #expect(doctor.status == 0, "\(doctor.output)")
        #expect(doctor.output.contains("1 of "), "\(doctor.output)")
        #expect(doctor.output.contains("which is not configured"), "\(doctor.output)")
    }
}
