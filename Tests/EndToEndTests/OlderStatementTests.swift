import Foundation
import TestSupport
import Testing

/// A company whose App Store has a clock that the test moves.
struct MovedWorld {
    let place: Workplace

    init(customers: Int = 12, _ job: String = "settle: 0s\nfail_on: low") throws {
        let simulator = try RunningSimulator([
            "--customers", "\(customers)", "--seed", "3", "--drift", "0", "--now",
            "2026-11-10T03:00:00Z",
        ])
        place = try Workplace(on: simulator)
        try place.writeJob("nightly", job)
        try #require(place.run("init").status == 0)
        let table = try #require(simulator.ready.tableFile)
        try #require(place.run("import", table).status == 0)
    }

    /// Moves the clock of Apple; all later runs have the same.
    func advance(_ body: String) async throws {
        try await place.simulator.control("/_simulator/advance", method: "POST", body: body)
    }

    func faults(_ list: String) async throws {
        try await place.simulator.control(
            "/_simulator/faults", method: "POST", body: "{\"faults\": [\(list)]}")
    }

    /// The store's time.
    func now() async throws -> String {
        let clock = try await place.simulator.control("/_simulator/clock")
        let object = try JSONSerialization.jsonObject(with: clock) as? [String: Any]
        return try #require(object?["now"] as? String)
    }

    /// Runs a command at the store's time.
    @discardableResult
    func run(_ arguments: String...) async throws -> BuiltExecutable.Result {
        try place.run(arguments + ["--now", try await now()])
    }

    /// An answer that states this auto-renew status, signed so many hours after the world's beginning.
    func cached(ids: [String], autoRenew: Int, hours: Int) -> String {
        let part = "data.lastTransactions."
        let seconds = 1_794_279_600 + hours * 3600
        return """
            {"fault": "change", "endpoint": "statuses", "ids": ["\(ids.joined(separator: "\", \""))"],
            "set": {"\(part)signedRenewalInfo.autoRenewStatus": \(autoRenew),
            "\(part)signedTransactionInfo.signedDate": \(seconds)000,
            "\(part)signedRenewalInfo.signedDate": \(seconds)000}}
            """
    }

    /// The ids of rows with a status, and their auto-renew status.
    func ids(status: Int = 1) throws -> [(id: String, autoRenew: Int)] {
        try place.stored(
            """
            SELECT original_transaction_id, auto_renew_status FROM subscriptions
            WHERE status = \(status) ORDER BY original_transaction_id
            """
        ).map { row in
            (try #require(Self.text(row[0])), try #require(Int(Self.text(row[1]) ?? "")))
        }
    }

    static func text(_ shown: String) -> String? {
        shown.split(whereSeparator: { !$0.isNumber }).first.map(String.init)
    }

    func column(_ name: String, of id: String) throws -> String? {
        let rows = try place.stored(
            "SELECT \(name) FROM subscriptions WHERE original_transaction_id = '\(id)'")
        return rows.first?.first
    }

    func kinds() throws -> [String: Int] {
        try place.reportLines("discrepancies.jsonl").reduce(into: [:]) { counts, line in
            counts[line["kind"] as? String ?? "", default: 0] += 1
        }
    }
}

/// A statement that Apple signed before one that a run has seen, also where that run found agreement
/// and wrote nothing.
@Suite(.timeLimit(.minutes(30))) struct `An older statement of Apple's` {
    /// Who sees the newer statement.
    enum Seer: String, CaseIterable, Sendable { case run, check, filtered }

    private static let rows = "SELECT * FROM subscriptions ORDER BY original_transaction_id"

    private func see(_ seer: Seer, _ world: MovedWorld, _ id: String) async throws {
        let file = try world.place.folder.write(id + "\n", to: "ids.txt")
        let seen =
            switch seer {
            case .run: try await world.run("run", "nightly")
            case .check: try await world.run("check", "nightly")
            case .filtered: try await world.run("run", "nightly", "--ids-file", file)
            }
        try #require(seen.status == 0, "\(seen.output)\(seen.errors)")
        try #require(world.place.reportLines("corrections.jsonl").isEmpty)
    }

    @Test(arguments: Seer.allCases)
    func `writes nothing in a later run`(seer: Seer) async throws {
        let world = try MovedWorld()
        let (id, autoRenew) = try #require(world.ids().first)
        // Nothing happens by itself in the first six hours.
        try await world.advance(#"{"hours": 2}"#)
        try await see(seer, world, id)
        let before = try world.place.stored(Self.rows)
        // The answer of an hour before the newer statement comes out of a cache.
        try await world.advance(#"{"hours": 1}"#)
        try await world.faults(
            world.cached(ids: [id], autoRenew: 1 - autoRenew, hours: 1))
        for arguments in [["run", "nightly"], ["run", "nightly", "--only", "renewal_preference"]] {
            let late = try world.place.run(arguments + ["--now", try await world.now()])
            #expect(late.status == 3, "\(late.output)\(late.errors)")
            #expect(try world.place.report("undecided.csv").contains("newer_locally"))
            #expect(try world.place.stored(Self.rows) == before)
            try await world.advance(#"{"hours": 1}"#)
        }
        // A fresh answer settles it.
        try await world.faults("")
        let last = try await world.run("run", "nightly")
        #expect(last.status == 0, "\(last.output)\(last.errors)")
    }

    @Test(arguments: Seer.allCases)
    func `writes nothing by a plan that was made by it`(seer: Seer) async throws {
        let world = try MovedWorld()
        let (id, autoRenew) = try #require(world.ids().first)
        try await world.advance(#"{"hours": 1}"#)
        let part = "data.lastTransactions.signedRenewalInfo.autoRenewStatus"
        try await world.faults(
            #"{"fault": "change", "endpoint": "statuses", "ids": ["\#(id)"], "#
                + #""set": {"\#(part)": \#(1 - autoRenew)}}"#)
        let check = try await world.run("check", "nightly")
        try #require(check.status == 2, "\(check.output)\(check.errors)")
        let plan = try world.place.folder.write(world.place.report("plan.json"), to: "plan.json")
        try await world.faults("")
        try await world.advance(#"{"hours": 1}"#)
        try await see(seer, world, id)
        let before = try world.place.stored(Self.rows)
        try await world.advance(#"{"hours": 1}"#)
        let applied = try world.place.run("apply", plan)
        #expect(applied.status == 6, "\(applied.output)\(applied.errors)")
        // Which, and when Apple signed both; the row itself did not change.
        let words = applied.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(
            words.contains("because Apple signed a newer statement about the subscription"),
            "\(words)")
        #expect(words.contains("(\(id): of 2026-11-10T04:"), "\(words)")
        #expect(words.contains("the newest is of 2026-11-10T05:"), "\(words)")
        #expect(!words.contains("the row changed since the plan was made"), "\(words)")
        #expect(try world.place.report("undecided.csv").contains("newer_locally"))
        #expect(try world.place.stored(Self.rows) == before)
    }

    @Test(arguments: Seer.allCases)
    func `writes nothing by an import, which says so`(seer: Seer) async throws {
        let world = try MovedWorld()
        let (id, autoRenew) = try #require(world.ids().first)
        let export = try world.place.run("export").output.split(whereSeparator: \.isNewline)
        let names = export[0].split(separator: ",").map(String.init)
        var row = try #require(export.first { $0.hasPrefix(id + ",") })
            .split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        try await world.advance(#"{"hours": 2}"#)
        try await see(seer, world, id)
        let before = try world.place.stored(Self.rows)
        // The file is of a moment between the row's statement and the newer one.
        row[try #require(names.firstIndex(of: "auto_renew_status"))] = String(1 - autoRenew)
        row[try #require(names.firstIndex(of: "signed_date"))] = "2026-11-10T04:00:00.000Z"
        let file = try world.place.folder.write(
            [names, row].map { $0.joined(separator: ",") }.joined(separator: "\n") + "\n",
            to: "old.csv")
        let imported = try world.place.run("import", file)
        #expect(imported.status == 0, "\(imported.errors)")
        #expect(imported.output.contains("0 updated, 0 unchanged, 1 skipped as older"))
        #expect(
            imported.errors.contains(
                "\(id): of 2026-11-10T04:00:00.000Z, the newest is of 2026-11-10T05:"),
            "\(imported.errors)")
        #expect(try world.place.stored(Self.rows) == before)
    }

    @Test func `writes nothing after an undo, and a reverted undo does not bring it back`()
        async throws
    {
        let world = try MovedWorld()
        let (id, autoRenew) = try #require(world.ids().first)
        try world.place.sql(
            """
            UPDATE subscriptions SET auto_renew_status = \(1 - autoRenew)
            WHERE original_transaction_id = '\(id)'
            """)
        try await world.advance(#"{"hours": 2}"#)
        try #require(try await world.run("run", "nightly").status == 0)
        let run = try #require(try world.place.summary()["run_id"] as? String)
        try #require(world.place.run("undo", run, "--execute").status == 0)
        let undo = try #require(try world.place.summary()["run_id"] as? String)
        let before = try world.place.stored(Self.rows)
        try await world.advance(#"{"hours": 1}"#)
        try await world.faults(world.cached(ids: [id], autoRenew: autoRenew, hours: 1))
        let late = try await world.run("run", "nightly")
        #expect(late.status == 3, "\(late.output)\(late.errors)")
        #expect(try world.place.stored(Self.rows) == before)
        // A newer statement than the one that was reverted is seen by a check.
        try await world.faults("")
        try await world.advance(#"{"hours": 1}"#)
        try #require(try await world.run("check", "nightly").status == 2)
        let again = try world.place.run("undo", undo, "--execute")
        #expect(again.status == 6, "\(again.output)\(again.errors)")
        #expect(try world.place.stored(Self.rows) == before)
    }
}

/// A date when Apple signed what a row rests on, which is still to come.
@Suite(.timeLimit(.minutes(30))) struct `A signed_date in the future` {
    @Test func `is refused at import`() async throws {
        let world = try MovedWorld()
        let export = try world.place.run("export").output
        let lines = export.split(whereSeparator: \.isNewline)
        let next = String(Int(Date().timeIntervalSince1970 / 31_556_952) + 1972)
        let changed =
            lines[1].split(separator: ",", omittingEmptySubsequences: false).dropLast()
            .joined(separator: ",") + ",\(next)-01-01T00:00:00.000Z"
        let file = try world.place.folder.write(
            [String(lines[0]), changed, String(lines[2])].joined(separator: "\n") + "\n",
            to: "future.csv")
        let refused = try world.place.run("import", file)
        #expect(refused.status == 65, "\(refused.output)\(refused.errors)")
        #expect(refused.errors.contains("future.csv:2: signed_date"), "\(refused.errors)")
        let skipped = try world.place.run("import", file, "--skip-bad-rows")
        #expect(skipped.status == 0, "\(skipped.errors)")
        #expect(skipped.output.contains("1 line loaded"), "\(skipped.output)")
    }

    @Test func `is a finding, and the row is judged as if it were empty`() async throws {
        let world = try MovedWorld()
        let ids = try world.ids().prefix(2).map(\.id)
        try world.place.sql(
            """
            UPDATE subscriptions SET signed_date = 1899999999000
            WHERE original_transaction_id IN ('\(ids[0])', '\(ids[1])')
            """)
        try world.place.sql(
            """
            UPDATE subscriptions SET status = 2 WHERE original_transaction_id = '\(ids[0])'
            """)
        try await world.advance(#"{"hours": 1}"#)
        let first = try await world.run("run", "nightly")
        #expect(first.status == 2, "\(first.output)\(first.errors)")
        #expect(try world.kinds() == ["unreadable_value": 2, "access_missing": 1])
        #expect(try world.column("status", of: ids[0])?.contains("1") == true)
        #expect(try world.column("signed_date", of: ids[0])?.contains("1899999999000") == false)
        #expect(try world.place.run("verify").status == 0)
        // What was corrected with another column is dated right again; the other waits for a person.
        try await world.advance(#"{"hours": 1}"#)
        #expect(try await world.run("run", "nightly").status == 2)
        let open = try world.place.reportLines("discrepancies.jsonl")
        #expect(open.map { $0["original_transaction_id"] as? String } == [ids[1]])
        let finding = try #require(open.first?["finding_id"] as? String)
        let known = try world.place.run("acknowledge", finding, "--reason", "known")
        #expect(known.status == 0, "\(known.errors)")
        try await world.advance(#"{"hours": 1}"#)
        let third = try await world.run("run", "nightly")
        #expect(third.status == 0, "\(third.output)\(third.errors)")
    }
}

/// What Apple signed earlier and no longer states, and ids that Apple never had.
@Suite(.timeLimit(.minutes(30))) struct `A value that Apple does not state` {
    @Test func `of a revocation or a grace period is found and cleared, whatever the status`()
        async throws
    {
        let world = try MovedWorld(customers: 60)
        let rows =
            "SELECT status, revocation_date, grace_period_expires_date FROM subscriptions "
            + "ORDER BY original_transaction_id"
        let before = try world.place.stored(rows)
        try world.place.sql(
            "UPDATE subscriptions SET revocation_date = 1790000000000 WHERE status <> 5")
        try world.place.sql(
            "UPDATE subscriptions SET grace_period_expires_date = 1790000000000 WHERE status <> 4")
        let planted = try world.place.stored("SELECT count(*) FROM subscriptions WHERE status <> 5")
        try await world.advance(#"{"hours": 1}"#)
        let run = try await world.run("run", "nightly")
        #expect(run.status == 0, "\(run.output)\(run.errors)")
        let findings = try world.place.reportLines("discrepancies.jsonl")
        let revoked = findings.filter { $0["kind"] as? String == "revocation_date" }
        #expect("\(planted)".contains("\(revoked.count)"), "\(planted) \(revoked.count)")
        #expect(findings.allSatisfy { $0["severity"] as? String == "medium" })
        #expect(findings.allSatisfy { $0["apple_value"] is NSNull })
        #expect(
            Set(findings.compactMap { $0["kind"] as? String })
                == ["revocation_date", "grace_missed"])
        #expect(try world.place.stored(rows) == before)
        #expect(try world.place.run("verify").status == 0)
    }

    @Test func `of a refund that is taken back after the period's end is cleared`() async throws {
        let folder = try TemporaryFolder()
        let scenario = try folder.write(
            """
            customers:
              - name: anna
                life:
                  - {at: -20d, buy: news.monthly}
                  - {at: +1d, cancel: true}
                  - {at: +2d, refund: 100}
                  - {at: +20d, refund_reversed: true}

            """, to: "scenario.yaml")
        let simulator = try RunningSimulator([
            "--customers", "0", "--scenario", scenario, "--now", "2026-11-01T03:00:00Z", "--drift",
            "0",
        ])
        let place = try Workplace(on: simulator)
        try place.writeJob("nightly", "settle: 0s\nfail_on: none")
        try #require(place.run("init").status == 0)
        try #require(place.run("import", try #require(simulator.ready.tableFile)).status == 0)
        var dates: Set<String> = []
        for day in 2...23 {
            let now = "2026-11-\(day < 10 ? "0" : "")\(day)T04:00:00Z"
            try await simulator.control(
                "/_simulator/advance", method: "POST", body: "{\"to\": \"\(now)\"}")
            let run = try place.run("run", "nightly", "--now", now)
            try #require(run.status == 0, "\(run.output)\(run.errors)")
            dates.insert("\(try place.stored("SELECT revocation_date FROM subscriptions"))")
        }
        #expect(dates.count > 1, "\(dates)")
        let end = try place.stored(
            "SELECT count(*) FROM subscriptions WHERE revocation_date IS NULL")
        #expect("\(end)".contains("1"), "\(end)")
    }

    @Test func `as the transaction of the right line item is found and corrected`() async throws {
        let world = try MovedWorld(customers: 30)
        let ids = try world.ids().map(\.id)
        try #require(ids.count > 4)
        let right = try world.column("latest_transaction_id", of: ids[0])
        try world.place.sql(
            """
            UPDATE subscriptions SET latest_transaction_id = '420001099999999'
            WHERE original_transaction_id = '\(ids[0])'
            """)
        try await world.advance(#"{"hours": 1}"#)
        let run = try await world.run("run", "nightly")
        #expect(run.status == 0, "\(run.output)\(run.errors)")
        #expect(try world.kinds() == ["latest_transaction": 1])
        #expect(try world.column("latest_transaction_id", of: ids[0]) == right)
        #expect(try histories(world) == 1)
        #expect(try world.place.run("verify").status == 0)
        // Another device restored: Apple's last transaction is another one of the same line item, and
        // the history shows ours. It is asked once.
        let part = "data.lastTransactions.signedTransactionInfo.transactionId"
        try await world.faults(
            #"{"fault": "change", "endpoint": "statuses", "ids": ["\#(ids[0])"], "#
                + #""set": {"\#(part)": "420001099999998"}}"#)
        let kept = try world.column("latest_transaction_id", of: ids[0])
        try world.place.sql(
            """
            UPDATE subscriptions SET auto_renew_product_id = 'another'
            WHERE original_transaction_id = '\(ids[0])'
            """)
        for expected in [1, 0] {
            try await world.advance(#"{"hours": 1}"#)
            #expect(try await world.run("run", "nightly").status == 0)
            #expect(try world.column("latest_transaction_id", of: ids[0]) == kept)
            #expect(try histories(world) == expected)
        }
    }

    private func histories(_ world: MovedWorld) throws -> Int {
        let calls = try world.place.summary()["calls"] as? [String: [String: Int]] ?? [:]
        return calls["transaction_history"]?.values.reduce(0, +) ?? 0
    }
}

/// Values that Apple signs and that no database text or sum can hold.
@Suite(.timeLimit(.minutes(30))) struct `A signed value that cannot be stored` {
    private static let transaction = "data.lastTransactions.signedTransactionInfo."
    private static let renewal = "data.lastTransactions.signedRenewalInfo."

    @Test func `spoils one row for one run, and never the database`() async throws {
        let world = try MovedWorld(customers: 6, "settle: 0s\nhistory: always")
        let id = try #require(world.ids().first).id
        let values =
            [
                ("productId", #""ab\u0000cd""#), ("inAppOwnershipType", #""ab\u0000cd""#),
                ("appAccountToken", #""ab\u0000cd""#), ("currency", #""ab\u0000cd""#),
                ("offerIdentifier", #""ab\u0000cd""#), ("productId", #""a\u0001\u001b[2J\u009bb""#),
                ("productId", "\"\(String(repeating: "x", count: 40_000))\""),
                ("price", "9223372036854775807"), ("price", "-9223372036854775808"),
                ("expiresDate", "9223372036854775807"), ("purchaseDate", "-9223372036854775808"),
            ].map { (Self.transaction + $0.0, $0.1) } + [
                (Self.renewal + "autoRenewProductId", #""ab\u0000cd""#),
                (Self.renewal + "renewalDate", "9223372036854775807"),
            ]
        for (path, value) in values {
            try await world.advance(#"{"hours": 1}"#)
            try await world.faults(
                #"{"fault": "change", "ids": ["\#(id)"], "set": {"\#(path)": \#(value)}}"#)
            let run = try await world.run("run", "nightly")
            #expect([0, 2, 3].contains(run.status), "\(path) \(value.prefix(40)) \(run.errors)")
            let totals = try #require(try world.place.summary()["totals"] as? [String: Any])
            #expect((totals["undecided"] as? Int ?? 9) <= 2, "\(path)")
            let proof = try world.place.run("verify")
            #expect(proof.status == 0, "\(path) \(proof.output)\(proof.errors)")
            #expect(try world.place.run("explain", id).status == 0, "\(path)")
            try await world.faults("")
            try await world.advance(#"{"hours": 1}"#)
            let healed = try await world.run("run", "nightly")
            #expect(healed.status == 0, "\(path) \(healed.errors)")
        }
    }
}
