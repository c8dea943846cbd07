import Foundation
import TestSupport
import Testing

/// A service that reads `trueup_entitlements` and nothing else.
@Suite(.timeLimit(.minutes(30))) struct `A service that reads the entitlements` {
    /// Products of three subscription groups, of which all grant `member`.
    static let catalogue = """
        products:
          com.example.app.video.basic.monthly: {grants: [video, member]}
          com.example.app.video.premium.monthly: {grants: [video, hd, member]}
          com.example.app.video.premium.yearly: {grants: [video, hd, member]}
          com.example.app.news.weekly: {grants: [news, member]}
          com.example.app.news.monthly: {grants: [news, member]}
          com.example.app.news.yearly: {grants: [news, member]}
          com.example.app.storage.small.monthly: {grants: [storage, member]}
          com.example.app.storage.large.monthly: {grants: [storage, member]}
          com.example.app.storage.commitment: {grants: [storage, member]}

        """

    private static func grants(of product: String) -> [String] {
        catalogue.split(separator: "\n").first { $0.contains(" \(product):") }
            .flatMap { $0.firstMatch(of: /grants: \[([^\]]*)\]/)?.1 }
            .map { $0.split(separator: ", ").map(String.init) } ?? []
    }

    private func workplace(_ arguments: [String], catalogue: String?) throws -> Workplace {
        let simulator = try RunningSimulator(arguments)
        let place = try Workplace(on: simulator)
        if let catalogue { try name(catalogue, in: place) }
        try place.writeJob(
            "nightly", "settle: 0s",
            guards: "max_changes: 100000, max_change_share: 1, max_same_direction_share: 1")
        try #require(place.run("init").status == 0)
        return place
    }

    private func name(_ catalogue: String, in place: Workplace) throws {
        try place.folder.write(catalogue, to: "catalogue.yaml")
        let settings = try place.folder.text("trueup.yaml")
        guard !settings.contains("catalogue:") else { return }
        try place.folder.write(settings + "catalogue: catalogue.yaml\n", to: "trueup.yaml")
    }

    private func now(_ place: Workplace) async throws -> String {
        let clock = try await place.simulator.control("/_simulator/clock")
        let object = try JSONSerialization.jsonObject(with: clock) as? [String: Any]
        return try #require(object?["now"] as? String)
    }

    /// Apple's rows of this moment.
    private func truth(_ place: Workplace) async throws -> (text: String, rows: [[String: String]])
    {
        let text = String(
            decoding: try await place.simulator.control("/_simulator/table"), as: UTF8.self)
        let lines = text.split(whereSeparator: \.isNewline).map {
            $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let header = try #require(lines.first)
        return (text, lines.dropFirst().map { Dictionary(uniqueKeysWithValues: zip(header, $0)) })
    }

    /// What customers may use, by Apple's status of the subscriptions that the table holds.
    private func mayUse(_ place: Workplace) async throws -> Set<String> {
        let held = Set(
            try place.stored("SELECT original_transaction_id FROM subscriptions").map { $0[0] })
        var may: Set<String> = []
        for row in try await truth(place).rows
        where held.contains(row["original_transaction_id"] ?? "")
            && ["1", "4"].contains(row["status"] ?? "")
        {
            for name in Self.grants(of: row["product_id"] ?? "") {
                may.insert("\(row["customer_id"] ?? ""): \(name)")
            }
        }
        return may
    }

    /// The same, as the service reads it.
    private func readsAsActive(_ place: Workplace, at moment: String) throws -> Set<String> {
        Set(
            try place.stored(
                """
                SELECT customer_id, entitlement FROM trueup_entitlements
                WHERE bundle_id = 'com.example.app' AND environment = 'Production'
                    AND (expires_date IS NULL OR expires_date
                        > CAST(round((julianday('\(moment)') - 2440587.5) * 86400000) AS INTEGER))
                """
            ).map { "\($0[0]): \($0[1])" })
    }

    /// Only the runs bring changes to the table: the company's services write nothing.
    @Test func `is never wrong after a run, through a month of a population`() async throws {
        let place = try workplace(
            ["--customers", "40", "--seed", "21", "--now", "2026-09-01T03:00:00Z"],
            catalogue: Self.catalogue)
        let file = try await place.folder.write(truth(place).text, to: "table.csv")
        try #require(place.run("import", file).status == 0)
        #expect(try await readsAsActive(place, at: now(place)) == mayUse(place))
        var ended = 0
        for night in 1...10 {
            try await place.simulator.control(
                "/_simulator/advance", method: "POST", body: #"{"days": 3}"#)
            let moment = try await now(place)
            let run = try place.run(["run", "nightly", "--now", moment])
            #expect([0, 2].contains(run.status), "\(run.output)\(run.errors)")
            let (reads, may) = (try readsAsActive(place, at: moment), try await mayUse(place))
            #expect(reads.subtracting(may).isEmpty, "night \(night): active and should not be")
            #expect(may.subtracting(reads).isEmpty, "night \(night): should be active")
            #expect(!may.isEmpty)
            let all = try place.stored("SELECT count(*) FROM trueup_entitlements")
            ended = (Int(all[0][0]) ?? 0) - reads.count
        }
        // A row stays after its end.
        #expect(ended > 0)
    }

    @Test func `sees the last of several grants end, and none before`() async throws {
        let folder = try TemporaryFolder()
        let scenario = try folder.write(
            """
            customers:
              - name: anna
                life:
                  - {at: -40d, buy: video.basic.monthly, label: video}
                  - {at: -20d, buy: news.monthly}

            """, to: "anna.yaml")
        let place = try workplace(
            ["--customers", "0", "--scenario", scenario, "--now", "2026-09-01T03:00:00Z"],
            catalogue: Self.catalogue)
        let file = try await place.folder.write(truth(place).text, to: "table.csv")
        try #require(place.run("import", file).status == 0)
        func active() async throws -> [String] {
            let listed = try place.run(
                "entitlements", "--json", "--active", "--at", try await now(place))
            #expect(listed.status == 0)
            return listed.output.matches(of: /"entitlement":"([a-z]+)"/).map { String($0.1) }
        }
        #expect(try await active() == ["member", "news", "video"])
        try await place.simulator.control(
            "/_simulator/customers/anna/refund", method: "POST",
            body: #"{"refund": 100, "of": "video"}"#)
        _ = try place.run(["run", "nightly", "--now", try await now(place)])
        #expect(try await active() == ["member", "news"])
    }

    @Test func `is shown the same by the command, and a new catalogue by the next run`()
        async throws
    {
        let place = try workplace(["--customers", "20", "--seed", "4"], catalogue: nil)
        let file = try await place.folder.write(truth(place).text, to: "table.csv")
        try #require(place.run("import", file).status == 0)
        #expect(try EntitlementOracle.problems(inDatabaseAt: database(place)) == [])
        let stored = try place.stored("SELECT count(*) FROM trueup_entitlements")[0][0]
        let listed = try place.run("entitlements", "--json")
        #expect(listed.output.split(separator: "\n").count == Int(stored))
        #expect(listed.errors.isEmpty)
        try name(Self.catalogue.replacing("storage, member", with: "member"), in: place)
        let before = try place.run("entitlements", "--customer", "customer-000001")
        #expect(before.errors.contains("not worked out with the catalogue as it is now"))
        #expect(before.output.contains("com.example.app."))
        let run = try place.run("run", "nightly")
        #expect([0, 2].contains(run.status), "\(run.output)\(run.errors)")
        #expect(
            try await readsAsActive(place, at: "now").filter { !$0.contains(": com.") }
                == mayUse(place).filter { !$0.hasSuffix(": storage") })
        #expect(try place.run("entitlements", "--customer", "nobody").status == 5)
        let since = try place.run("entitlements", "--changed-since", "latest", "--json")
        #expect(since.status == 0)
        #expect(
            try place.run("entitlements", "--changed-since", "19990101T000000Z-000000").status == 64
        )
        // A product that is not listed grants nothing, and a run says so.
        try name(
            Self.catalogue.replacing("com.example.app.news", with: "com.example.old"), in: place)
        #expect([0, 2].contains(try place.run("run", "nightly").status))
        let unknown = try place.reportLines("discrepancies.jsonl").filter {
            $0["kind"] as? String == "unknown_product"
        }
        let products = Set(unknown.compactMap { $0["apple_value"] as? String })
        #expect(!products.isEmpty)
        #expect(products.allSatisfy { $0.hasPrefix("com.example.app.news") })
        #expect(unknown.allSatisfy { $0["action"] as? String == "none" })
        #expect(try place.run("verify").status == 0)
    }

    private func database(_ place: Workplace) -> String {
        place.folder.url.appendingPathComponent("trueup.sqlite").path
    }

    /// The customer moved from one group to another: what both grant is never missing, and no event
    /// says that it ended.
    @Test func `keeps what another group grants as well`() async throws {
        let place = try workplace(
            ["--customers", "60", "--seed", "21", "--now", "2026-09-01T03:00:00Z"],
            catalogue: Self.catalogue)
        let events = place.folder.url.appendingPathComponent("events").path
        try place.folder.write(
            place.folder.text("trueup.yaml") + "tell:\n  command: [/usr/bin/tee, -a, \(events)]\n",
            to: "trueup.yaml")
        let file = try await place.folder.write(truth(place).text, to: "table.csv")
        try #require(place.run("import", file).status == 0)
        // `com.example.app.` has 16 characters; the next word names the group.
        let moved = try place.stored(
            """
            SELECT old.original_transaction_id, new.original_transaction_id, old.customer_id
            FROM subscriptions AS old JOIN subscriptions AS new ON new.customer_id = old.customer_id
            WHERE old.status = 2 AND new.status = 1
                AND substr(old.product_id, 17, 4) <> substr(new.product_id, 17, 4)
                AND 1 = (SELECT count(*) FROM subscriptions AS s
                    WHERE s.customer_id = old.customer_id AND s.status IN (1, 4))
            ORDER BY 1, 2 LIMIT 1
            """)
        let pair = try #require(moved.first)
        try place.sql(
            """
            UPDATE subscriptions SET status = 1, expires_date = expires_date + 400 * 86400000
            WHERE original_transaction_id = '\(pair[0])'
            """)
        try place.sql(
            "UPDATE subscriptions SET status = 2 WHERE original_transaction_id = '\(pair[1])'")
        let run = try place.run(["run", "nightly", "--now", try await now(place)])
        #expect([0, 2].contains(run.status), "\(run.output)\(run.errors)")
        let entries = try place.reportLines("corrections.jsonl").filter {
            pair.contains($0["original_transaction_id"] as? String ?? "")
        }
        #expect(entries.map { $0["original_transaction_id"] as? String } == [pair[1], pair[0]])
        #expect(entries.last?["access_continues_by"] as? String == pair[1])
        let told = try place.folder.text("events").split(separator: "\n").compactMap {
            try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
        }
        let end = try #require(
            told.first { $0["original_transaction_id"] as? String == pair[0] })
        let lost = try #require(end["access_lost"] as? [String])
        #expect(!lost.isEmpty && !lost.contains("member"), "\(end)")
        #expect(end["access_continues"] == nil)
        let gain = try #require(
            told.first { $0["original_transaction_id"] as? String == pair[1] })
        #expect((gain["entitlement_ids"] as? [String])?.contains("member") == true)
        #expect((gain["access_gained"] as? [String])?.contains("member") == false)
        #expect((gain["access_gained"] as? [String])?.isEmpty == false)
    }
}
