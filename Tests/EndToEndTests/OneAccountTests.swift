import Foundation
import TestSupport
import Testing

/// Nights on an Apple Account with several subscriptions, on the built executables.
@Suite(.serialized, .timeLimit(.minutes(30))) struct `An account with several subscriptions` {
    private static let scenario = """
        now: 2026-11-20T03:00:00Z
        customers:
          - name: returned
            life:
              - {at: -100d, buy: video.basic.monthly, label: old}
              - {at: -90d, cancel: true, of: old}
              - {at: -20d, buy: video.premium.monthly, label: new}
          - name: misfiled
            life:
              - {at: -80d, buy: video.basic.monthly, label: kept}
              - {at: -70d, buy: news.monthly, label: misfiled}
          - name: steady
            life:
              - {at: -75d, buy: news.monthly}

        """

    private static let simulator: RunningSimulator? = {
        guard let folder = try? TemporaryFolder(),
            let scenario = try? folder.write(Self.scenario, to: "scenario.yaml")
        else { return nil }
        return try? RunningSimulator([
            "--customers", "0", "--scenario", scenario, "--drift", "0",
        ])
    }()

    private func place(_ job: String = "settle: 0s") throws -> Workplace {
        let simulator = try #require(Self.simulator)
        let place = try Workplace(on: simulator)
        try place.writeJob("nightly", job, steps: "[walk]")
        try #require(place.run("init").status == 0)
        let imported = try place.run("import", try #require(simulator.ready.tableFile))
        try #require(imported.status == 0, "\(imported.errors)")
        return place
    }

    /// The original transaction ids of a customer's purchases, oldest first.
    private func ids(of customer: String) async throws -> [String] {
        let simulator = try #require(Self.simulator)
        let object = try JSONSerialization.jsonObject(
            with: try await simulator.control("/_simulator/customers"))
        let customers = try #require((object as? [String: Any])?["customers"] as? [[String: Any]])
        let found = try #require(customers.first { $0["name"] as? String == customer })
        return try #require(found["purchases"] as? [[String: Any]])
            .compactMap { $0["original_transaction_id"] as? String }
    }

    private func statuses(_ place: Workplace, _ ids: [String]) throws -> [String?] {
        let rows = try place.rows()
        return ids.map { id in
            rows.values.first { $0["original_transaction_id"] == id }?["status"]
        }
    }

    /// The finding of a kind about an id in the newest report.
    private func finding(
        _ place: Workplace, _ kind: String, of id: String
    ) throws -> [String: Any]? {
        try place.reportLines("discrepancies.jsonl").first {
            $0["kind"] as? String == kind && $0["original_transaction_id"] as? String == id
        }
    }

    private func expectIntact(_ place: Workplace) throws {
        let verified = try place.run("verify", "--database")
        #expect(verified.status == 0, "\(verified.errors)\n\(verified.output)")
    }

    @Test(arguments: ["insert", "update"])
    func `is looked at on the first night and corrected on the second, the gain first`(
        how: String
    ) async throws {
        let place = try place()
        let pair = try await ids(of: "returned")
        try place.sql(
            "UPDATE subscriptions SET status = 1 WHERE original_transaction_id = '\(pair[0])'")
        try place.sql(
            how == "insert"
                ? "DELETE FROM subscriptions WHERE original_transaction_id = '\(pair[1])'"
                : "UPDATE subscriptions SET status = 2 WHERE original_transaction_id = '\(pair[1])'"
        )
        let check = try place.run("check", "nightly")
        #expect(check.status == 2, "\(check.errors)\n\(check.output)")
        #expect(try finding(place, "access_unpaid", of: pair[0])?["action"] as? String == "planned")
        let plan = try place.folder.write(try place.report("plan.json"), to: "plan.json")
        let applied = try place.run("apply", plan, "--canary", "1")
        #expect(applied.status == 0, "\(applied.errors)\n\(applied.output)")
        let written = try place.reportLines("corrections.jsonl")
        #expect(
            written.map { $0["original_transaction_id"] as? String } == [pair[1], pair[0]])
        #expect(written.map { $0["access_continues_by"] as? String } == [nil, pair[1]])
        #expect(try statuses(place, pair) == ["2", "1"])
        let next = try place.run("run", "nightly")
        #expect(next.status == 0, "\(next.errors)\n\(next.output)")
        try expectIntact(place)
    }

    @Test func `keeps its old access while the new one is only reported`() async throws {
        let place = try place()
        let pair = try await ids(of: "returned")
        try place.sql(
            """
            UPDATE subscriptions SET status = 1, app_account_token =
                '00000000-0000-4000-8000-000000000001' WHERE original_transaction_id = '\(pair[1])'
            """)
        try place.sql(
            "UPDATE subscriptions SET status = 1 WHERE original_transaction_id = '\(pair[0])'")
        for _ in 0..<2 {
            let run = try place.run("run", "nightly")
            #expect(run.status == 2, "\(run.errors)\n\(run.output)")
            let refused = try finding(place, "access_unpaid", of: pair[0])
            #expect(refused?["action"] as? String == "refused")
            #expect(refused?["cause"] as? String == "held back until \(pair[1]) is in the table")
            #expect(try statuses(place, pair) == ["1", "1"])
        }
        // Once the other row is the customer's beyond doubt, the ended one is corrected.
        try place.sql(
            "UPDATE subscriptions SET app_account_token = NULL WHERE original_transaction_id = "
                + "'\(pair[1])'")
        let file = try place.folder.write(pair[0] + "\n", to: "ids.txt")
        let run = try place.run("run", "nightly", "--ids-file", file)
        #expect(run.status == 0, "\(run.errors)\n\(run.output)")
        #expect(try statuses(place, pair) == ["2", "1"])
        try expectIntact(place)
    }

    @Test func `gets no second row beside one under a later transaction's id`() async throws {
        let place = try place("history: never")
        try place.writeJob("recover", "settle: 0s", steps: "[recover]")
        let pair = try await ids(of: "misfiled")
        try place.sql(
            """
            UPDATE subscriptions SET original_transaction_id = latest_transaction_id, status = 2
                WHERE original_transaction_id = '\(pair[1])'
            """)
        let before = try place.rows(without: ["signed_date"])
        let file = try place.folder.write(pair[0] + "\n", to: "ids.txt")
        // By another row of the customer's, by a notification, and by the whole walk, twice.
        for arguments in [["nightly", "--ids-file", file], ["recover"], ["nightly"], ["nightly"]] {
            let run =
                arguments.count > 1
                ? try place.run("run", arguments[0], arguments[1], arguments[2])
                : try place.run("run", arguments[0])
            #expect(run.status == 2, "\(arguments): \(run.errors)\n\(run.output)")
            #expect(try place.rows(without: ["signed_date"]) == before, "\(arguments)")
            #expect(try place.reportLines("corrections.jsonl").isEmpty, "\(arguments)")
            if arguments == ["nightly"] { continue }
            let missing = try finding(place, "missing_locally", of: pair[1])
            #expect(missing?["action"] as? String == "refused", "\(arguments)")
            #expect(
                missing?["cause"] as? String
                    == "a row is stored under one of its later transaction ids", "\(arguments)")
        }
        try expectIntact(place)
    }

    @Test func `keeps a held true original as it is from the night on that shows its stand-in`()
        async throws
    {
        let place = try place("settle: 0s")
        let pair = try await ids(of: "misfiled")
        try place.sql(
            """
            INSERT INTO subscriptions (bundle_id, environment, original_transaction_id,
                product_id, status, expires_date)
            SELECT bundle_id, environment, latest_transaction_id, product_id, status, expires_date
            FROM subscriptions WHERE original_transaction_id = '\(pair[1])'
            """)
        try place.sql(
            "UPDATE subscriptions SET status = 2 WHERE original_transaction_id = '\(pair[1])'")
        for night in 1...2 {
            let run = try place.run("run", "nightly")
            #expect(run.status == 2, "night \(night): \(run.errors)\n\(run.output)")
            #expect(try statuses(place, [pair[1]]) == ["2"], "night \(night)")
            let refused = try finding(place, "access_missing", of: pair[1])
            #expect(refused?["action"] as? String == "refused", "night \(night)")
            #expect(
                refused?["cause"] as? String
                    == "a row is stored under one of its later transaction ids", "night \(night)")
        }
        try expectIntact(place)
        try place.sql(
            """
            DELETE FROM subscriptions WHERE original_transaction_id = (
                SELECT latest_transaction_id FROM subscriptions
                WHERE original_transaction_id = '\(pair[1])')
            """)
        #expect(try place.run("run", "nightly").status == 0)
        #expect(try statuses(place, [pair[1]]) == ["1"])
    }

    @Test func `is not guessed a customer for what names another account`() async throws {
        let place = try place()
        let pair = try await ids(of: "misfiled")
        try place.sql(
            """
            UPDATE subscriptions SET app_account_token = '00000000-0000-4000-8000-000000000001'
                WHERE original_transaction_id = '\(pair[0])'
            """)
        try place.sql("DELETE FROM subscriptions WHERE original_transaction_id = '\(pair[1])'")
        #expect(try place.run("run", "nightly").status == 2)
        let missing = try finding(place, "missing_locally", of: pair[1])
        #expect(missing?["action"] as? String == "refused")
        #expect(try statuses(place, [pair[1]]) == [nil])
    }

    @Test(arguments: ["always", "when-needed"])
    func `misses no period that the company deletes later`(history: String) async throws {
        let place = try place("history: \(history)\nsettle: 0s")
        try place.writeJob("fill", "history: always\nsettle: 0s", steps: "[walk]")
        #expect(try place.run("run", "fill").status == 0)
        let id = try #require(try await ids(of: "steady").first)
        #expect(try place.run("run", "nightly").status == 0)
        try place.sql(
            """
            DELETE FROM transactions WHERE transaction_id = (SELECT min(transaction_id)
                FROM transactions WHERE original_transaction_id = '\(id)')
            """)
        let mended = try place.run("run", "nightly")
        #expect(mended.status == 0, "\(mended.errors)\n\(mended.output)")
        #expect(
            try finding(place, "transaction_missing", of: id)?["action"] as? String == "inserted")
        let calls = { try #require(try place.summary()["calls"] as? [String: Any]) }
        #expect(try calls()["transaction_history"] != nil)

        // A period that Apple does not know stays open until it is gone.
        try place.sql(
            """
            INSERT INTO transactions (
                transaction_id, original_transaction_id, environment, bundle_id)
            SELECT '77', original_transaction_id, environment, bundle_id FROM subscriptions
                WHERE original_transaction_id = '\(id)'
            """)
        for state in ["new", "open", "open"] {
            #expect(try place.run("run", "nightly").status == 2)
            #expect(try finding(place, "transaction_unknown", of: id)?["state"] as? String == state)
        }
        try place.sql("DELETE FROM transactions WHERE transaction_id = '77'")
        #expect(try place.run("run", "nightly").status == 0)
        let status = try place.run("status")
        #expect(!status.output.contains("transaction_unknown"), "\(status.output)")
    }
}
