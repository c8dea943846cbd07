import Foundation
import TestSupport
import Testing

/// One-time purchases that the company stores, beside a simulated store that lives them.
@Suite(.timeLimit(.minutes(30))) struct `One-time purchases` {
    private static let scenario = """
        customers:
          - name: anna
            life:
              - {at: -20d, buy: news.monthly}
              - {at: -9d, buy: coins.100}
              - {at: -8d, refund: 100, reason: 1}
          - name: bert
            life:
              - {at: -20d, buy: news.monthly}
              - {at: -7d, buy: themes}
          - name: cora
            life:
              - {at: -20d, buy: news.monthly}
              - {at: -9d, buy: themes}
              - {at: -8d, refund: 100}
              - {at: -6d, refund_reversed: true}
          - name: dora
            life:
              - {at: -20d, buy: news.monthly}
              - {at: -5d, buy: season.pass}
          - name: emil
            life:
              - {at: -20d, buy: news.monthly}
              - {at: -9d, buy: coins.100}
              - {at: -8d, refund: 40}

        """

    private func table(_ name: String, _ place: Workplace) async throws -> String {
        String(
            decoding: try await place.simulator.control("/_simulator/" + name), as: UTF8.self)
    }

    /// The lines of a CSV of the simulator, by column.
    private func rows(_ csv: String) throws -> [[String: String]] {
        let lines = csv.split(whereSeparator: \.isNewline).map {
            $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let header = try #require(lines.first)
        return lines.dropFirst().map { Dictionary(uniqueKeysWithValues: zip(header, $0)) }
    }

    private func stored(_ place: Workplace) throws -> [String: [String: String]] {
        let exported = try place.run("export", "--purchases")
        try #require(exported.status == 0, "\(exported.errors)")
        return Dictionary(
            uniqueKeysWithValues: try rows(exported.output).map { row in
                (row["transaction_id"] ?? "", row.filter { $0.key != "signed_date" })
            })
    }

    private func found(_ place: Workplace) throws -> [String] {
        try place.reportLines("discrepancies.jsonl").compactMap { line in
            guard let kind = line["kind"] as? String, kind.hasPrefix("purchase_") else {
                return nil
            }
            return kind + " " + (line["transaction_id"] as? String ?? "")
        }.sorted()
    }

    /// `purchases` in the summary of the last run.
    private func counted(_ place: Workplace) throws -> [String: Int] {
        try #require(try place.summary()["purchases"] as? [String: Int])
    }

    /// A database that holds all subscriptions and purchases as the simulated store has them.
    private func imported(_ customers: Int) async throws -> Workplace {
        let folder = try TemporaryFolder()
        let scenario = try folder.write(Self.scenario, to: "shop.yaml")
        let place = try Workplace(
            on: RunningSimulator([
                "--customers", "\(customers)", "--seed", "4", "--scenario", scenario,
            ]))
        try #require(place.run("init").status == 0)
        let subscriptions = try place.folder.write(await table("table", place), to: "t.csv")
        try #require(place.run("import", subscriptions).status == 0)
        let purchases = try place.folder.write(await table("purchases", place), to: "p.csv")
        let imported = try place.run("import", purchases, "--purchases")
        try #require(imported.status == 0, "\(imported.errors)")
        return place
    }

    private static let names = ["anna", "bert", "cora", "dora", "emil"]

    /// The purchase of a customer of the scenario: the last ones that bought anything.
    private func id(of name: String, in truth: [String: [String: String]]) throws -> String {
        let customers = Set(truth.values.compactMap { $0["customer_id"] }).sorted()
        let place = try #require(Self.names.firstIndex(of: name))
        let customer = try #require(customers.suffix(Self.names.count).dropFirst(place).first)
        return try #require(truth.values.first { $0["customer_id"] == customer }?["transaction_id"])
    }

    @Test func `are found and corrected as planted, none invented, and undo restores them`()
        async throws
    {
        let place = try await imported(30)
        let truth = try stored(place)
        try #require(truth.count >= 5)

        // The whole history is read, also of those who bought nothing once.
        try place.writeJob("nightly", "history: always\nsettle: 0s\nfail_on: low", steps: "[walk]")
        let first = try place.run("run", "nightly")
        #expect(first.status == 0, "\(first.output)\(first.errors)")
        #expect(try found(place).isEmpty)
        #expect(try stored(place) == truth)

        // One of each: a purchase that never arrived, a refund, a refund that was taken back, and
        // another refund than the stored one.
        let refunded = try id(of: "anna", in: truth)
        let missing = try id(of: "dora", in: truth)
        let kept = try id(of: "cora", in: truth)
        let partly = try id(of: "emil", in: truth)
        try place.sql(
            """
            UPDATE purchases SET revocation_date = NULL, revocation_reason = NULL
            WHERE transaction_id = '\(refunded)';
            DELETE FROM purchases WHERE transaction_id = '\(missing)';
            UPDATE purchases SET revocation_date = purchase_date + 1000, revocation_reason = 0
            WHERE transaction_id = '\(kept)';
            UPDATE purchases SET revocation_percentage = 90000 WHERE transaction_id = '\(partly)';
            """)
        let drifted = try stored(place)
        let expected = [
            "purchase_missing \(missing)", "purchase_refund_missed \(refunded)",
            "purchase_refund_missed \(kept)", "purchase_refund_missed \(partly)",
        ].sorted()

        let check = try place.run("check", "nightly")
        #expect(check.status == 2, "\(check.output)\(check.errors)")
        #expect(try found(place) == expected)
        #expect(try stored(place) == drifted)
        #expect(try place.report("plan.json").contains("\"table\":\"purchases\""))

        let run = try place.run("run", "nightly")
        #expect(run.status == 0, "\(run.output)\(run.errors)")
        #expect(try found(place) == expected)
        #expect(try stored(place) == truth)
        let entries = try place.reportLines("corrections.jsonl")
        #expect(entries.count == 4)
        #expect(entries.allSatisfy { $0["table"] as? String == "purchases" })
        let runID = try #require(try place.summary()["run_id"] as? String)
        for arguments in [["verify"], ["verify", "--database"]] {
            let verified = try place.run(arguments)
            #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
        }

        let second = try place.run("run", "nightly")
        #expect(second.status == 0, "\(second.output)\(second.errors)")
        #expect(try found(place).isEmpty)
        #expect(try place.reportLines("corrections.jsonl").isEmpty)

        let shown = try place.run("undo", runID)
        #expect(shown.output.contains("  purchase "), "\(shown.output)")
        #expect(!shown.output.contains("  period "), "\(shown.output)")
        let undone = try place.run("undo", runID, "--execute")
        #expect([0, 2].contains(undone.status), "\(undone.output)\(undone.errors)")
        #expect(try stored(place) == drifted)
        let again = try place.run("run", "nightly")
        #expect(again.status == 0, "\(again.output)\(again.errors)")
        #expect(try stored(place) == truth)
        let verified = try place.run("verify")
        #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
    }

    @Test func `planted wrong by the simulator are all found, and none is invented`() throws {
        let folder = try TemporaryFolder()
        let scenario = try folder.write(
            """
            population: {customers: 300, rates: {one_time_purchase: 0.4, one_time_refund: 0.4}}

            """, to: "refunds.yaml")
        let simulator = try RunningSimulator([
            "--seed", "8", "--drift", "0.3", "--scenario", scenario,
        ])
        let place = try Workplace(on: simulator)
        try #require(place.run("init").status == 0)
        let ready = simulator.ready
        try #require(place.run("import", try #require(ready.tableFile)).status == 0)
        let imported = try place.run("import", try #require(ready.purchasesFile), "--purchases")
        try #require(imported.status == 0, "\(imported.errors)")
        let planted = try Planted(of: simulator).kinds
            .merging(Planted(of: simulator, in: \.plantedPurchasesFile).kinds) { $0.union($1) }
        let kinds = Set(planted.values.joined())
        #expect(kinds.filter { $0.hasPrefix("purchase_") }.count == 3 && kinds.count >= 20)

        // A customer whose subscription Apple does not find is read by the purchases.
        try place.writeJob(
            "nightly", "history: always\npurchases: {sweep_days: 1}")
        let run = try place.run("run", "nightly")
        #expect(run.status == 2, "\(run.output)\(run.errors)")
        var found: [String: Set<String>] = [:]
        for line in try place.reportLines("discrepancies.jsonl") {
            let id = line["original_transaction_id"] as? String ?? ""
            let (kind, action) = (line["kind"] as? String ?? "", line["action"] as? String)
            found[id, default: []].insert(kind)
            guard kind.hasPrefix("purchase_") else { continue }
            let expected =
                switch kind {
                case "purchase_missing": "inserted"
                case "purchase_refund_missed": "corrected"
                default: "none"
                }
            #expect(action == expected, "\(kind) of \(id): \(line["cause"] ?? "")")
        }
        for id in Set(planted.keys).union(found.keys) {
            #expect(found[id] == planted[id], "\(id)")
        }
        for arguments in [["verify"], ["verify", "--database"]] {
            let verified = try place.run(arguments)
            #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
        }

        // What only a person can decide stays; it is acknowledged, and gone with its row.
        try place.writeJob("again", "history: always\nsettle: 0s", steps: "[walk]")
        try #require(place.run("run", "again").status == 2)
        let unknown = try place.reportLines("discrepancies.jsonl").filter {
            ($0["kind"] as? String ?? "").hasPrefix("purchase_")
        }
        #expect(!unknown.isEmpty)
        for line in unknown {
            #expect(line["kind"] as? String == "purchase_unknown")
            #expect(line["state"] as? String == "open")
        }
        let id = try #require(unknown.first?["finding_id"] as? String)
        let acknowledged = try place.run("acknowledge", id, "--reason", "a test purchase")
        #expect(acknowledged.status == 0, "\(acknowledged.errors)")
        try place.sql(
            """
            DELETE FROM purchases WHERE transaction_id IN (
                SELECT original_transaction_id FROM trueup_findings WHERE kind = 'purchase_unknown')
            """)
        _ = try place.run("run", "again")
        #expect(
            try !place.reportLines("discrepancies.jsonl").contains {
                ($0["kind"] as? String ?? "").hasPrefix("purchase_")
            })
    }

    @Test func `of a customer without a subscription are read by one of them`() async throws {
        let folder = try TemporaryFolder()
        let scenario = try folder.write(
            """
            customers:
              - name: anna
                life:
                  - {at: -20d, buy: themes}
                  - {at: -9d, buy: coins.100}
                  - {at: -8d, refund: 100}
                  - {at: -7d, buy: season.pass}

            """, to: "shop.yaml")
        let place = try Workplace(
            on: RunningSimulator(["--customers", "0", "--seed", "4", "--scenario", scenario]))
        try #require(place.run("init").status == 0)
        let purchases = try place.folder.write(await table("purchases", place), to: "p.csv")
        try #require(place.run("import", purchases, "--purchases").status == 0)
        let truth = try stored(place)
        try #require(truth.count == 3)
        func id(_ product: String) throws -> String {
            try #require(
                truth.values.first { $0["product_id"]?.hasSuffix(product) == true }?[
                    "transaction_id"])
        }
        let (missing, refunded) = (try id("season.pass"), try id("coins.100"))
        // The first id of the customer is one that Apple does not know.
        try place.sql(
            """
            DELETE FROM purchases WHERE transaction_id = '\(missing)';
            UPDATE purchases SET revocation_date = NULL, revocation_reason = NULL
            WHERE transaction_id = '\(refunded)';
            INSERT INTO purchases (transaction_id, original_transaction_id, environment, bundle_id,
                customer_id, product_id, purchase_date)
            SELECT '1', '1', environment, bundle_id, customer_id, product_id, purchase_date
            FROM purchases LIMIT 1;
            """)
        try place.writeJob(
            "nightly", "history: never\nsettle: 0s\npurchases: {sweep_days: 1}", steps: "[walk]")
        let estimate = try place.run("estimate", "nightly", "--json")
        #expect(
            estimate.output.contains(#""endpoint":"transaction_history""#), "\(estimate.output)")
        let now = Date()
        let run = try place.run("run", "nightly", "--now", now.formatted(.iso8601))
        #expect(run.status == 2, "\(run.output)\(run.errors)")
        #expect(
            try found(place) == [
                "purchase_missing \(missing)", "purchase_refund_missed \(refunded)",
                "purchase_unknown 1",
            ])
        var corrected = try stored(place)
        #expect(corrected.removeValue(forKey: "1") != nil)
        #expect(corrected == truth)
        let calls = try #require(try place.summary()["calls"] as? [String: [String: Int]])
        #expect(calls["transaction_history"]?["not_found"] == 1, "\(calls)")
        #expect(calls["transaction_history"]?["ok"] == 1, "\(calls)")
        #expect(calls["refund_history"]?.values.reduce(0, +) ?? 0 == 0, "\(calls)")
        #expect(
            try counted(place) == [
                "stored": 4, "matched": 1, "discrepant": 3, "undecided": 0, "not_checked": 0,
                "corrected": 2, "inserted": 1, "missing": 0,
            ])
        #expect(
            run.output.contains("3 of 4 one-time purchases differ, 2 corrected"), "\(run.output)")
        let page = try place.report("report.html")
        #expect(
            page.contains(
                "4 of 4 stored one-time purchases checked: 1 agree with Apple, 3 differ, 2 corrected."
            ))
        // The rows of a table that is empty are no figures.
        #expect(
            page.contains("<dt>purchases differ</dt>") && !page.contains("<dt>rows stored</dt>"))
        let status = try place.run("status")
        #expect(
            status.output.contains("checked 4 of 4: 1 agree, 3 differ, 0 undecided, 2 corrected"),
            "\(status.output)")
        #expect(!status.output.contains("load them with"), "\(status.output)")
        let verified = try place.run("verify")
        #expect(verified.status == 0, "\(verified.output)\(verified.errors)")

        // Not "nothing in scope", also while no customer is due.
        try place.sql("DELETE FROM purchases WHERE transaction_id = '1'")
        for _ in 1...2 {
            let later = try place.run("run", "nightly", "--now", now.formatted(.iso8601))
            #expect(later.status == 0, "\(later.output)\(later.errors)")
            #expect(
                later.output.contains("none of 3 one-time purchases was checked"),
                "\(later.output)")
            #expect(try counted(place)["not_checked"] == 3)
        }
        // Every customer is due each day, also where the job begins earlier than the day before.
        let morning = now.formatted(.iso8601.year().month().day()) + "T00:00:00Z"
        let next = try #require(try? Date(morning, strategy: .iso8601)).addingTimeInterval(86_400)
        let tomorrow = try place.run("run", "nightly", "--now", next.formatted(.iso8601))
        #expect(tomorrow.status == 0, "\(tomorrow.output)\(tomorrow.errors)")
        #expect(try counted(place)["not_checked"] == 0)
    }

    /// Nothing else leads to the subscription: the customer has no row in the table.
    @Test func `lead to a subscription of their customer that is not stored`() async throws {
        let folder = try TemporaryFolder()
        let scenario = try folder.write(
            """
            customers:
              - name: anna
                life:
                  - {at: -20d, buy: news.monthly}
                  - {at: -9d, buy: themes}
              - name: bert
                life:
                  - {at: -20d, buy: news.monthly}

            """, to: "shop.yaml")
        let place = try Workplace(
            on: RunningSimulator(["--customers", "0", "--seed", "4", "--scenario", scenario]))
        try #require(place.run("init").status == 0)
        let subscriptions = try place.folder.write(await table("table", place), to: "t.csv")
        try #require(place.run("import", subscriptions).status == 0)
        try place.sql("DELETE FROM subscriptions WHERE customer_id = 'customer-000001'")
        let purchases = try place.folder.write(await table("purchases", place), to: "p.csv")
        try #require(place.run("import", purchases, "--purchases").status == 0)
        try place.writeJob("nightly", "settle: 0s\npurchases: {sweep_days: 1}", steps: "[walk]")
        let first = try place.run("run", "nightly")
        #expect(first.status == 0, "\(first.output)\(first.errors)")
        let second = try place.run("run", "nightly")
        #expect(second.status == 2, "\(second.output)\(second.errors)")
        let missing = try place.reportLines("discrepancies.jsonl").filter {
            $0["kind"] as? String == "missing_locally"
        }
        #expect(missing.count == 1)
        #expect(missing.first?["severity"] as? String == "critical")
    }

    @Test func `are corrected by notifications alone, and a guard leaves nothing behind`()
        async throws
    {
        let place = try await imported(30)
        let truth = try stored(place)
        let refunded = try id(of: "anna", in: truth)
        let missing = try id(of: "dora", in: truth)
        let kept = try id(of: "cora", in: truth)
        try place.sql(
            """
            UPDATE purchases SET revocation_date = NULL, revocation_reason = NULL
            WHERE transaction_id = '\(refunded)';
            DELETE FROM purchases WHERE transaction_id = '\(missing)';
            UPDATE purchases SET revocation_date = purchase_date + 1000, revocation_reason = 0
            WHERE transaction_id = '\(kept)';
            -- Long before Apple signed the notifications.
            UPDATE purchases SET signed_date = purchase_date;
            """)
        let expected = [
            "purchase_missing \(missing)", "purchase_refund_missed \(refunded)",
            "purchase_refund_missed \(kept)",
        ].sorted()

        // The guard stops the plan. What the notifications told is not forgotten.
        let lines = "recover: {inbox: none}\nsettle: 0s"
        try place.writeJob(
            "nightly", lines, steps: "[recover]", guards: "max_changes: 1, min_changes: 1")
        let stopped = try place.run("run", "nightly")
        #expect(stopped.status == 4, "\(stopped.output)\(stopped.errors)")
        #expect(try found(place) == expected)
        let refusal = try #require(
            place.reportLines("discrepancies.jsonl").first {
                $0["kind"] as? String == "purchase_missing"
            })
        #expect(refusal["action"] as? String == "refused")
        #expect(refusal["transaction_id"] as? String == missing)
        try place.writeJob("nightly", lines, steps: "[recover]")
        let run = try place.run("run", "nightly")
        #expect([0, 2].contains(run.status), "\(run.output)\(run.errors)")
        var corrected = truth
        corrected[missing] = nil
        #expect(try stored(place) == corrected)
        for arguments in [["verify"], ["verify", "--database"]] {
            let verified = try place.run(arguments)
            #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
        }
    }

    @Test func `cannot be forged in a report`() async throws {
        let place = try await imported(0)
        let truth = try stored(place)
        // The first run adds the periods, so that the second corrects purchases alone.
        try place.writeJob("nightly", "history: always\nsettle: 0s", steps: "[walk]")
        try #require(place.run("run", "nightly").status == 0)
        try place.sql(
            """
            UPDATE purchases SET revocation_date = NULL, revocation_reason = NULL
            WHERE transaction_id = '\(id(of: "anna", in: truth))';
            DELETE FROM purchases WHERE transaction_id = '\(id(of: "dora", in: truth))';
            """)
        try #require(place.run("run", "nightly").status == 0)
        let reports = place.folder.url.appendingPathComponent("reports")

        func verified(_ forge: (ForgedReports) throws -> Void) throws -> String {
            let forged = try ForgedReports(copyOf: reports)
            try forge(forged)
            try forged.rehashLedger(from: 1)
            try forged.relink(from: 1)
            let result = try place.run(
                "verify", forged.directory.path, "--trusted-root",
                place.simulator.ready.rootFile)
            return result.status == 0 ? "intact" : result.output + result.errors
        }
        func line(_ action: String, in reports: ForgedReports) throws -> Int {
            try #require(
                reports.objects(1, "corrections.jsonl").firstIndex {
                    $0["table"] as? String == "purchases" && $0["action"] as? String == action
                })
        }
        let untouched = try verified { _ in }
        #expect(untouched == "intact")
        let forgeries: [(action: String, column: String, value: Any)] = [
            ("update", "revocation_date", "2026-01-01T00:00:00.000Z"),
            ("update", "revocation_reason", 0),
            ("insert", "product_id", "com.example.other"), ("insert", "quantity", 900),
        ]
        for forgery in forgeries {
            let problems = try verified { reports in
                try reports.edit(
                    1, "corrections.jsonl", line: line(forgery.action, in: reports)
                ) { entry in
                    var after = try #require(entry["after"] as? [String: Any])
                    try #require(after[forgery.column] != nil)
                    after[forgery.column] = forgery.value
                    entry["after"] = after
                }
            }
            #expect(problems.contains("TAMPERED"), "\(forgery.column): \(problems)")
            #expect(problems.contains("its \(forgery.column)"), "\(forgery.column): \(problems)")
        }
        // Of a stored purchase nothing but its refund is ever written.
        let problems = try verified { reports in
            try reports.edit(1, "corrections.jsonl", line: line("update", in: reports)) { entry in
                var (before, after) = (
                    try #require(entry["before"] as? [String: Any]),
                    try #require(entry["after"] as? [String: Any])
                )
                (before["customer_id"], after["customer_id"]) = ("anna", "eve")
                (entry["before"], entry["after"]) = (before, after)
            }
        }
        #expect(problems.contains("its customer_id was changed"), "\(problems)")
    }

    private static let catalogue = """
        products:
          com.example.app.themes: {kind: non-consumable, grants: [themes]}
          com.example.app.season.pass: {kind: non-renewing, grants: [season], duration: P90D}
          com.example.app.coins.100: {kind: consumable}
          com.example.app.news.monthly: {grants: [news]}

        """

    @Test func `grant what the catalogue lists, until a refund, and consumables never`()
        async throws
    {
        let place = try await imported(0)
        let truth = try stored(place)
        try place.folder.write(Self.catalogue, to: "catalogue.yaml")
        let settings = try place.folder.text("trueup.yaml")
        try place.folder.write(settings + "catalogue: catalogue.yaml\n", to: "trueup.yaml")
        try place.writeJob("nightly", "history: always\nsettle: 0s", steps: "[walk]")
        // What the service believes: a refund that Apple reversed, and no season pass.
        let (season, themes) = (try id(of: "dora", in: truth), try id(of: "cora", in: truth))
        try place.sql(
            """
            DELETE FROM purchases WHERE transaction_id = '\(season)';
            UPDATE purchases SET revocation_date = purchase_date + 1000, revocation_reason = 0
            WHERE transaction_id = '\(themes)';
            """)

        func active() throws -> Set<String> {
            let listed = try place.run("entitlements", "--active", "--json")
            try #require(listed.status == 0, "\(listed.errors)")
            return Set(
                try listed.output.split(separator: "\n").compactMap { line in
                    let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
                    guard let entry = object as? [String: Any],
                        let name = entry["entitlement"] as? String, name != "news"
                    else { return nil }
                    let end = entry["expires_date"] is NSNull ? "for life" : "for a time"
                    return "\(entry["customer_id"] ?? "") \(name) \(end)"
                })
        }
        let wrong = try place.run("check", "nightly")
        #expect(wrong.status == 2, "\(wrong.output)\(wrong.errors)")
        let run = try place.run("run", "nightly")
        #expect(run.status == 0, "\(run.output)\(run.errors)")
        #expect(
            try active() == [
                "customer-000002 themes for life", "customer-000003 themes for life",
                "customer-000004 season for a time",
            ])
        let changes = try place.report("entitlements.csv")
        for customer in ["customer-000003", "customer-000004"] {
            #expect(changes.contains(customer), "\(changes)")
        }
        let dora = try place.run("entitlements", "--customer", "customer-000004")
        #expect(dora.status == 0 && dora.output.contains("season"), "\(dora.output)\(dora.errors)")
    }

    @Test func `have their refunds read until a signal, and the rest by the next run`() async throws
    {
        let place = try await imported(0)
        let truth = try stored(place)
        let customers = Set(truth.values.compactMap { $0["customer_id"] }).count
        try place.writeJob("nightly", "history: never\nsettle: 0s", steps: "[walk]")
        try #require(place.run("run", "nightly").status == 0)
        try place.writeJob(
            "nightly", "history: never\nsettle: 0s\nsample: 0\npurchases: {sweep_days: 1}",
            steps: "[walk]")
        let app = place.simulator.appYAML()
        try place.writeSettings(apps: [
            app.replacingOccurrences(
                of: "requests_per_second: 5000", with: "requests_per_second: 0.2")
        ])
        let running = try place.start("run", "nightly")
        let told = try place.until(running) {
            $0["stage"] as? String == "purchases" && $0["done"] as? Int ?? 0 > 0
        }
        #expect(told["total"] as? Int == customers, "\(told)")
        running.send(signal: SIGINT)
        let stopped = running.wait()
        #expect(stopped.status == 130, "\(stopped.errors)")
        let outcome = try #require(try place.summary()["outcome"] as? [String: Any])
        #expect(outcome["exit_status"] as? Int == 130)

        try place.writeSettings(apps: [app])
        let next = try place.run("run", "nightly")
        #expect(next.status == 0, "\(next.output)\(next.errors)")
        let calls = try #require(try place.summary()["calls"] as? [String: [String: Int]])
        let read = calls["refund_history", default: [:]].values.reduce(0, +)
        #expect(read > 0 && read < customers, "\(calls)")
    }

    @Test func `have their refunds read, each customer once in so many days`() async throws {
        let place = try await imported(0)
        let truth = try stored(place)
        let refunded = try id(of: "anna", in: truth)
        // Apple's list of refunds lacks the one that it reversed.
        let reversed = try id(of: "cora", in: truth)
        try place.sql(
            """
            UPDATE purchases SET revocation_date = NULL, revocation_reason = NULL
            WHERE transaction_id = '\(refunded)';
            UPDATE purchases SET revocation_date = purchase_date + 1000, revocation_reason = 0
            WHERE transaction_id = '\(reversed)';
            """)
        func refundCalls() throws -> Int {
            let calls = try #require(try place.summary()["calls"] as? [String: [String: Int]])
            return calls["refund_history", default: [:]].values.reduce(0, +)
        }
        // Without the setting no history is read, so nothing shows the refund.
        try place.writeJob("nightly", "history: never\nsettle: 0s", steps: "[walk]")
        try #require(place.run("run", "nightly").status == 0)
        #expect(try found(place).isEmpty)
        #expect(try refundCalls() == 0)
        let without = try place.run("estimate", "nightly")
        #expect(!without.output.contains("refund_history"), "\(without.output)")

        try place.writeJob(
            "nightly", "history: never\nsettle: 0s\npurchases: {sweep_days: 1}", steps: "[walk]")
        let customers = Set(truth.values.compactMap { $0["customer_id"] }).count
        let estimate = try place.run("estimate", "nightly", "--json")
        #expect(
            estimate.output.contains(#""endpoint":"refund_history","environment""#)
                && estimate.output.contains(#""expected":\#(customers)"#), "\(estimate.output)")
        let run = try place.run("run", "nightly")
        #expect(run.status == 0, "\(run.output)\(run.errors)")
        #expect(
            try found(place)
                == [refunded, reversed].map { "purchase_refund_missed " + $0 }.sorted())
        #expect(try stored(place) == truth)
        #expect(try refundCalls() == customers)
        let verified = try place.run("verify")
        #expect(verified.status == 0, "\(verified.output)\(verified.errors)")

        let next = try place.run("run", "nightly")
        #expect(next.status == 0, "\(next.output)\(next.errors)")
        #expect(try refundCalls() == 0)
    }
}
