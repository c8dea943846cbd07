import Foundation
import TestSupport
import Testing

/// A finding that nobody can mend does not end every night with 2 for ever.
@Suite(.timeLimit(.minutes(30))) struct `An acknowledged finding` {
    @Test func `is reported and does not count, until it is taken back`() throws {
        let simulator = try RunningSimulator(["--customers", "30", "--seed", "3", "--drift", "0"])
        let place = try Workplace(on: simulator)
        try place.writeJob("nightly", "settle: 0s", steps: "[walk]")
        try #require(place.run("init").status == 0)
        try #require(place.run("import", try #require(simulator.ready.tableFile)).status == 0)
        #expect(try place.run("run", "nightly").status == 0)
        try place.sql(
            """
            UPDATE subscriptions SET app_account_token = 'ffffffff-0000-4000-8000-000000000001'
            WHERE original_transaction_id IN (SELECT original_transaction_id FROM subscriptions
                WHERE app_account_token IS NOT NULL AND app_account_token <> '' LIMIT 1)
            """)
        let first = try place.run("run", "nightly")
        #expect(first.status == 2, "\(first.errors)\n\(first.output)")
        let found = try place.reportLines("discrepancies.jsonl")
        #expect(found.map { $0["kind"] as? String } == ["identity"])
        let id = try #require(found.first?["finding_id"] as? String)

        #expect(try place.run("acknowledge", id).status == 64)
        #expect(try place.run("acknowledge", "000000000000", "--reason", "x").status == 64)
        #expect(
            try place.run("acknowledge", id, "--reason", "x", "--until", "2020-01-01").status == 64)
        let said = try place.run(
            "acknowledge", String(id.prefix(8)), "--reason", "a shared family account", "--until",
            "2199-12-31", "--json")
        #expect(said.status == 0, "\(said.errors)")
        let second = try place.run("run", "nightly")
        #expect(second.status == 0, "\(second.errors)\n\(second.output)")
        #expect(second.output.contains("a shared family account"), "\(second.output)")
        #expect(second.output.contains("1 finding acknowledged"), "\(second.output)")
        let again = try place.reportLines("discrepancies.jsonl")
        #expect(again.map { $0["state"] as? String } == ["acknowledged"])
        #expect(again.first?["finding_id"] as? String == id)
        let listed = try #require(try place.summary()["acknowledged"] as? [[String: Any]])
        #expect(listed.map { $0["finding_id"] as? String } == [id])
        #expect(listed.first?["reason"] as? String == "a shared family account")
        #expect(try place.run("status").output.contains("a shared family account"))
        let verified = try place.run("verify")
        #expect(verified.status == 0, "\(verified.output)\(verified.errors)")

        #expect(try place.run("acknowledge", id, "--undo").status == 0)
        #expect(try place.run("acknowledge", id, "--undo").status == 64)
        #expect(try place.run("run", "nightly").status == 2)
    }

    /// What somebody does to the chain of decisions, and what `verify` names then.
    private static let forgeries = [
        ("UPDATE trueup_decisions SET reason = 'fine' WHERE decision = 2", "decision 2: its hash"),
        ("UPDATE trueup_decisions SET until = 1 WHERE decision = 1", "decision 1: its hash"),
        ("DELETE FROM trueup_decisions WHERE decision = 1", "decision 2: the decision before"),
        ("DELETE FROM trueup_decisions WHERE decision = 2", "decision 3: the decision before"),
        ("DELETE FROM trueup_decisions WHERE decision = 3", "decision 3: runs refer to it"),
        (
            "UPDATE trueup_decisions SET decision = 9 WHERE decision = 1; "
                + "UPDATE trueup_decisions SET decision = 1 WHERE decision = 2; "
                + "UPDATE trueup_decisions SET decision = 2 WHERE decision = 9",
            "decision 1: it does not follow"
        ),
        ("UPDATE trueup_decisions SET action = x'00' WHERE decision = 1", "decision 1: its column"),
    ]

    @Test func `is part of a chain that verify checks in the database`() throws {
        let simulator = try RunningSimulator(["--customers", "30", "--seed", "3", "--drift", "0"])
        let place = try Workplace(on: simulator)
        try place.writeJob("nightly", "settle: 0s", steps: "[walk]")
        try #require(place.run("init").status == 0)
        try #require(place.run("import", try #require(simulator.ready.tableFile)).status == 0)
        try place.sql(
            """
            UPDATE subscriptions SET app_account_token = 'ffffffff-0000-4000-8000-000000000001'
            WHERE original_transaction_id IN (SELECT original_transaction_id FROM subscriptions
                WHERE app_account_token IS NOT NULL AND app_account_token <> '' LIMIT 1)
            """)
        #expect(try place.run("run", "nightly").status == 2)
        let found = try place.reportLines("discrepancies.jsonl")
        let id = try #require(found.first?["finding_id"] as? String)
        #expect(try place.run("acknowledge", id, "--reason", "known").status == 0)
        #expect(try place.run("acknowledge", id, "--undo").status == 0)
        #expect(try place.run("acknowledge", id, "--reason", "known after all").status == 0)
        #expect(try place.run("run", "nightly").status == 0)
        let intact = try place.run("verify", "--database")
        #expect(intact.status == 0, "\(intact.output)\(intact.errors)")
        #expect(intact.output.contains("holds: 3 decisions"), "\(intact.output)")

        try place.sql("DROP TRIGGER trueup_decisions_are_not_changed")
        try place.sql("DROP TRIGGER trueup_decisions_are_not_cut")
        try place.sql("CREATE TABLE kept AS SELECT * FROM trueup_decisions")
        try place.sql("DROP TRIGGER trueup_decisions_are_continued")
        for (forgery, named) in Self.forgeries {
            try place.sql(forgery)
            let verified = try place.run("verify", "--database")
            #expect(verified.status == 7, "\(forgery): \(verified.output)")
            #expect(
                verified.output.contains("the decisions in the database: " + named),
                "\(forgery): \(verified.output)")
            try place.sql("DELETE FROM trueup_decisions")
            try place.sql("INSERT INTO trueup_decisions SELECT * FROM kept")
        }
        #expect(try place.run("verify", "--database").status == 0)
    }
}
