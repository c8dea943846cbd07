import Foundation
import GRDB
import TestSupport
import Testing

/// One-time purchases in a table of the company's own, next to one of subscriptions.
@Suite(.timeLimit(.minutes(30))) struct `A table of purchases of the company's own` {
    private static let customers = """
        customers:
          - name: anna
            life:
              - {at: -20d, buy: themes}
              - {at: -9d, buy: coins.100}
              - {at: -8d, refund: 100, reason: 1}
              - {at: -7d, buy: season.pass}
          - name: bert
            life:
              - {at: -20d, buy: news.monthly}
              - {at: -9d, buy: themes}
              - {at: -8d, refund: 100}
              - {at: -6d, refund_reversed: true}

        """

    /// The company's database: it runs statements, and says what they print.
    private struct Shop {
        let url: String
        let run: (String) throws -> String
        let stop: () -> Void

        /// The orders, without what no correction writes.
        func orders() throws -> [String] {
            try run("SELECT txid, buyer, refunded, reason, share, source FROM orders ORDER BY txid")
                .split(separator: "\n").map(String.init)
        }
    }

    private func shop(_ kind: String, in folder: TemporaryFolder) throws -> Shop? {
        switch kind {
        case "sqlite":
            let file = folder.url.appendingPathComponent("shop.sqlite").path
            let database = try DatabaseQueue(path: file)
            return Shop(
                url: "sqlite:" + file,
                run: { text in
                    try database.writeWithoutTransaction { db in
                        guard text.hasPrefix("SELECT") else {
                            try db.execute(sql: text)
                            return ""
                        }
                        return try MappedState.lines(db, text).joined(separator: "\n")
                    }
                }, stop: {})
        #if PostgreSQL
            case "postgresql":
                let server = try OwnServer()
                return Shop(url: server.url, run: { try server.sql($0) }, stop: server.stop)
        #endif
        #if MySQL
            case "mysql":
                let server = try OwnMariaDB()
                return Shop(url: server.url(), run: { try server.sql($0) }, stop: server.stop)
        #endif
        default: return nil
        }
    }

    /// A line for each row of a CSV of the simulator: each value, or NULL.
    private func values(
        _ csv: String, _ names: [String]
    ) -> [String] {
        let lines = csv.split(whereSeparator: \.isNewline).map {
            $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        guard let header = lines.first else { return [] }
        return lines.dropFirst().map { line in
            names.map { name in
                let text = header.firstIndex(of: name).map { line[$0] } ?? ""
                let value =
                    name.hasSuffix("_date") ? SeedRow.date(text).map { "\($0)" } ?? "" : text
                return value.isEmpty ? "NULL" : "'\(value)'"
            }.joined(separator: ", ")
        }
    }

    /// The place, with both tables as the simulated store has them.
    private func place(_ shop: Shop) async throws -> Workplace {
        let folder = try TemporaryFolder()
        let scenario = try folder.write(Self.customers, to: "shop.yaml")
        let place = try Workplace(
            on: RunningSimulator(["--customers", "0", "--seed", "4", "--scenario", scenario]))
        func table(_ name: String) async throws -> String {
            String(
                decoding: try await place.simulator.control("/_simulator/" + name), as: UTF8.self)
        }
        let number = shop.url.hasPrefix("sqlite") ? "INTEGER" : "BIGINT"
        let key = "bundle VARCHAR(100), env VARCHAR(20)"
        var statements = """
            CREATE TABLE subs (otid \(number) PRIMARY KEY, \(key), buyer VARCHAR(50), state INTEGER,
                ends \(number));
            CREATE TABLE orders (txid \(number) PRIMARY KEY, \(key), buyer VARCHAR(50),
                product VARCHAR(100), bought \(number), refunded \(number), reason INTEGER,
                share INTEGER, source VARCHAR(20) NOT NULL DEFAULT 'shop');

            """
        let subscriptions = values(
            try await table("table"),
            [
                "original_transaction_id", "bundle_id", "environment", "customer_id", "status",
                "expires_date",
            ])
        for row in subscriptions { statements += "INSERT INTO subs VALUES (\(row));\n" }
        let purchases = values(
            try await table("purchases"),
            [
                "transaction_id", "bundle_id", "environment", "customer_id", "product_id",
                "purchase_date", "revocation_date", "revocation_reason", "revocation_percentage",
            ])
        for row in purchases { statements += "INSERT INTO orders VALUES (\(row), 'shop');\n" }
        _ = try shop.run(statements)
        try place.folder.write(
            "apps:\n" + place.simulator.appYAML() + """
                store:
                  url: \(shop.url)
                  books: sqlite:trueup.sqlite
                  subscriptions:
                    table: subs
                    columns:
                      original_transaction_id: {column: otid, form: integer}
                      bundle_id: bundle
                      environment: env
                      customer_id: buyer
                      status: state
                      expires_date: {column: ends, form: milliseconds}
                  purchases:
                    table: orders
                    columns:
                      transaction_id: {column: txid, form: integer}
                      bundle_id: bundle
                      environment: env
                      customer_id: buyer
                      product_id: product
                      purchase_date: {column: bought, form: milliseconds}
                      revocation_date: {column: refunded, form: milliseconds}
                      revocation_reason: reason
                      revocation_percentage: share
                    insert: {source: trueup}
                report:
                  directory: reports

                """, to: "trueup.yaml")
        try #require(place.run("init").status == 0)
        try place.writeJob(
            "nightly", "settle: 0s\npurchases: {sweep_days: 1}", steps: "[walk]")
        return place
    }

    private func found(_ place: Workplace) throws -> Set<String> {
        Set(
            try place.reportLines("discrepancies.jsonl").compactMap { line in
                guard let kind = line["kind"] as? String, kind.hasPrefix("purchase_") else {
                    return nil
                }
                return kind + " " + (line["transaction_id"] as? String ?? "")
            })
    }

    /// The databases that this machine has: what is not there is no test that passed.
    private static var here: [String] {
        var kinds = ["sqlite"]
        #if PostgreSQL
            if OwnServer.isInstalled { kinds.append("postgresql") }
        #endif
        #if MySQL
            if OwnMariaDB.isInstalled { kinds.append("mysql") }
        #endif
        return kinds
    }

    @Test(arguments: here)
    func `is corrected, proved and put back as ours is`(_ kind: String) async throws {
        let folder = try TemporaryFolder()
        let shop = try #require(try shop(kind, in: folder))
        defer { shop.stop() }
        let place = try await place(shop)
        let truth = try shop.orders()
        try #require(truth.count == 4)

        // A refund that was missed, a reversed one, and a purchase that never arrived.
        _ = try shop.run(
            """
            UPDATE orders SET refunded = NULL, reason = NULL, share = NULL
            WHERE product LIKE '%coins.100';
            UPDATE orders SET refunded = bought + 1000, reason = 0
            WHERE product LIKE '%themes' AND buyer IN (SELECT buyer FROM subs);
            DELETE FROM orders WHERE product LIKE '%season.pass';
            """)
        let drifted = try shop.orders()
        let doctor = try place.run("doctor")
        #expect(doctor.output.contains("orders has the"), "\(doctor.output)")
        #expect(doctor.output.contains("revocation_date"), "\(doctor.output)")

        let check = try place.run("check", "nightly")
        #expect(check.status == 2, "\(check.output)\(check.errors)")
        let expected = try found(place)
        #expect(expected.count == 3)
        #expect(try shop.orders() == drifted)
        // All that is compared of a purchase is mapped.
        #expect(check.output.contains("Not checked, because subs does not store it"))
        #expect(!check.output.contains("Not checked, because orders"), "\(check.output)")

        let run = try place.run("run", "nightly")
        #expect(run.status == 0, "\(run.output)\(run.errors)")
        #expect(try found(place) == expected)
        let inserted = try shop.orders().filter { $0.hasSuffix("trueup") }
        #expect(inserted.count == 1)
        #expect(
            try shop.orders().map { $0.replacing("trueup", with: "shop") } == truth)
        let entries = try place.reportLines("corrections.jsonl")
        #expect(entries.count == 3)
        #expect(entries.allSatisfy { $0["table"] as? String == "purchases" })
        let runID = try #require(try place.summary()["run_id"] as? String)
        let ledger =
            kind == "postgresql" ? "trueup.ledger" : "trueup_corrections"
        #expect(try shop.run("SELECT count(*) FROM \(ledger)").hasPrefix("3"))
        for arguments in [["verify"], ["verify", "--database"]] {
            let verified = try place.run(arguments)
            #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
        }
        let second = try place.run("run", "nightly")
        #expect(second.status == 0, "\(second.output)\(second.errors)")
        #expect(try place.reportLines("corrections.jsonl").isEmpty)

        let undo = try place.run("undo", runID, "--execute")
        #expect([0, 2].contains(undo.status), "\(undo.output)\(undo.errors)")
        #expect(try shop.orders() == drifted)
        let verified = try place.run("verify", "--database")
        #expect(verified.status == 0, "\(verified.output)\(verified.errors)")

        // The next run checks what was put back, and reads nobody's refunds again.
        let again = try place.run("run", "nightly")
        #expect(again.status == 0, "\(again.output)\(again.errors)")
        #expect(
            try shop.orders().map { $0.replacing("trueup", with: "shop") } == truth)
        let calls = try #require(try place.summary()["calls"] as? [String: [String: Int]])
        #expect(calls["refund_history"] == nil, "\(calls)")

        let imported = try place.run("import", "--purchases", "p.csv")
        #expect(imported.status == 64, "\(imported.errors)")
        #expect(imported.errors.contains("store.purchases"), "\(imported.errors)")
    }

    /// The history of each customer with a subscription, as for a table of trueup's own.
    @Test(arguments: here)
    func `is compared with the histories that history: always reads`(_ kind: String) async throws {
        let folder = try TemporaryFolder()
        let shop = try #require(try shop(kind, in: folder))
        defer { shop.stop() }
        let place = try await place(shop)
        let truth = try shop.orders()
        _ = try shop.run(
            "DELETE FROM orders WHERE product LIKE '%themes' AND buyer IN (SELECT buyer FROM subs)")
        try place.writeJob("nightly", "settle: 0s\nhistory: always", steps: "[walk]")
        let estimate = try place.run("estimate", "nightly", "--json")
        #expect(estimate.output.contains("transaction_history"), "\(estimate.output)")
        let run = try place.run("run", "nightly")
        #expect(run.status == 0, "\(run.output)\(run.errors)")
        #expect(try found(place).map { $0.prefix { $0 != " " } } == ["purchase_missing"])
        #expect(try shop.orders().map { $0.replacing("trueup", with: "shop") } == truth)
        // No period is stored, and none is inserted.
        #expect(try place.reportLines("corrections.jsonl").count == 1)
        #expect(try place.stored("SELECT count(*) FROM transactions") == [["0"]])
        let verified = try place.run("verify", "--database")
        #expect(verified.status == 0, "\(verified.output)\(verified.errors)")

        let second = try place.run("run", "nightly")
        #expect(second.status == 0, "\(second.output)\(second.errors)")
        #expect(try place.reportLines("corrections.jsonl").isEmpty)

        _ = try shop.run("DELETE FROM orders WHERE source = 'trueup'")
        let drifted = try shop.orders()
        try place.writeJob("nightly", "settle: 0s\nhistory: never", steps: "[walk]")
        let never = try place.run("run", "nightly")
        #expect(never.status == 0, "\(never.output)\(never.errors)")
        #expect(try shop.orders() == drifted)
        let calls = try #require(try place.summary()["calls"] as? [String: [String: Int]])
        #expect(calls["transaction_history"]?.values.reduce(0, +) ?? 0 == 0, "\(calls)")
    }

    @Test func `keeps what a service wrote, and refuses what it cannot hold`() async throws {
        let folder = try TemporaryFolder()
        let shop = try #require(try shop("sqlite", in: folder))
        let place = try await place(shop)
        _ = try shop.run(
            "UPDATE orders SET refunded = NULL, reason = NULL WHERE product LIKE '%coins.100'")
        let check = try place.run("check", "nightly")
        try #require(check.status == 2, "\(check.output)\(check.errors)")
        // A service learns of the refund before the plan is applied, and of another time.
        _ = try shop.run(
            "UPDATE orders SET refunded = 7, reason = 1 WHERE product LIKE '%coins.100'")
        let kept = try shop.orders()
        let apply = try place.run("apply", "reports/latest")
        #expect(apply.status == 6, "\(apply.output)\(apply.errors)")
        #expect(try shop.orders() == kept)

        // A column that is gone is named before anything is read.
        _ = try shop.run("ALTER TABLE orders RENAME COLUMN refunded TO taken_back")
        let run = try place.run("run", "nightly")
        #expect(run.status == 78, "\(run.output)\(run.errors)")
        #expect(
            run.errors.contains("refunded") && run.errors.contains("store.purchases"),
            "\(run.errors)")
    }
}
