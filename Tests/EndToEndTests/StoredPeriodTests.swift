import Foundation
import TestSupport
import Testing

/// What the company's services may leave in the rows of the period table.
@Suite struct `A stored period` {
    private static let dump = """
        SELECT transaction_id, original_transaction_id, quote(product_id), quote(type),
            quote(purchase_date), quote(expires_date), quote(revocation_date),
            quote(revocation_reason), quote(web_order_line_item_id),
            quote(in_app_ownership_type), quote(is_upgraded), quote(offer_type), quote(price),
            quote(currency), quote(signed_date)
        FROM transactions ORDER BY transaction_id
        """

    /// A table with the whole history of every subscription.
    private func workplace() throws -> Workplace {
        let place = try Workplace(
            on: RunningSimulator(["--customers", "40", "--drift", "0", "--seed", "7"]))
        try #require(place.run("init").status == 0)
        let imported = try place.run("import", try #require(place.simulator.ready.tableFile))
        try #require(imported.status == 0, "\(imported.errors)")
        try place.writeJob("backfill", "history: always", steps: "[walk]")
        let backfill = try place.run("run", "backfill")
        try #require(backfill.status == 0, "\(backfill.errors)\n\(backfill.output)")
        return place
    }

    /// One period of each of so many subscriptions, oldest first: transaction and original id.
    private func oldPeriods(_ count: Int, _ place: Workplace) throws -> [(id: String, of: String)] {
        let rows = try place.stored(
            """
            SELECT min(transaction_id), original_transaction_id FROM transactions
            GROUP BY original_transaction_id HAVING count(*) > 2
            ORDER BY original_transaction_id LIMIT \(count)
            """)
        try #require(rows.count == count)
        return try rows.map { row in
            (id: try #require(row.first), of: try #require(row.last))
        }
    }

    private func totals(_ place: Workplace) throws -> [String: Int] {
        try #require(try place.summary()["totals"] as? [String: Int])
    }

    private func historyCalls(_ place: Workplace) throws -> Int {
        let calls = try #require(try place.summary()["calls"] as? [String: [String: Int]])
        return calls["transaction_history", default: [:]].values.reduce(0, +)
    }

    @Test(.timeLimit(.minutes(30)))
    func `that lacks values is filled in with proof, once, and can be emptied again`() throws {
        let place = try workplace()
        let complete = try place.stored(Self.dump)
        let columns = [
            "price", "expires_date", "currency", "product_id", "purchase_date", "type",
            "web_order_line_item_id", "in_app_ownership_type", "is_upgraded",
        ]
        let chosen = try oldPeriods(columns.count, place)
        for (index, (column, period)) in zip(columns, chosen).enumerated() {
            try place.sql(
                """
                UPDATE transactions SET \(column) = \(index.isMultiple(of: 2) ? "NULL" : "''")
                WHERE transaction_id = '\(period.id)'
                """)
        }
        let emptied = try place.stored(Self.dump)
        #expect(emptied != complete)

        let check = try place.run("check", "nightly")
        #expect(check.status == 0, "\(check.errors)\n\(check.output)")
        #expect(try place.stored(Self.dump) == emptied)
        #expect(try totals(place)["filled"] == columns.count)
        #expect(try place.report("plan.json").contains("\"table\":\"transactions\""))

        let run = try place.run("run", "nightly")
        #expect(run.status == 0, "\(run.errors)\n\(run.output)")
        let filledBy = try #require(try place.summary()["run_id"] as? String)
        #expect(try place.stored(Self.dump) == complete)
        #expect(try place.reportLines("discrepancies.jsonl").isEmpty)
        #expect(try totals(place)["filled"] == columns.count)
        // Only of customers whose periods lack something.
        #expect(try (1...2 * columns.count).contains(historyCalls(place)))
        #expect(try totals(place)["matched"] == totals(place)["in_scope"])
        let entries = try place.reportLines("corrections.jsonl")
        #expect(entries.count == columns.count)
        for entry in entries {
            #expect(entry["table"] as? String == "transactions")
            #expect(entry["action"] as? String == "update")
            #expect((entry["kinds"] as? [String])?.isEmpty == true)
            let period = chosen.first { $0.id == entry["transaction_id"] as? String }
            #expect(period?.of == entry["original_transaction_id"] as? String)
            let before = try #require(entry["before"] as? [String: Any])
            let after = try #require(entry["after"] as? [String: Any])
            #expect(before.keys.count == 1 && Set(before.keys) == Set(after.keys))
            #expect(before.values.allSatisfy { $0 is NSNull || $0 as? String == "" })
            #expect(after.values.allSatisfy { !($0 is NSNull) })
        }
        let verified = try place.run("verify")
        #expect(verified.status == 0, "\(verified.output)")

        let again = try place.run("run", "nightly")
        #expect(again.status == 0, "\(again.errors)")
        #expect(try place.reportLines("corrections.jsonl").isEmpty)
        #expect(try totals(place)["filled"] == 0)
        #expect(try historyCalls(place) == 0)

        let undone = try place.run("undo", filledBy, "--execute")
        #expect(undone.status == 0, "\(undone.errors)\n\(undone.output)")
        #expect(try place.stored(Self.dump) == emptied)
        let after = try place.run("verify", "--database")
        #expect(after.status == 0, "\(after.output)\(after.errors)")

        // What was taken back is owed again.
        #expect(try place.run("run", "nightly").status == 0)
        #expect(try place.stored(Self.dump) == complete)
    }

    @Test(.timeLimit(.minutes(30)))
    func `that was imported without its history's columns is filled in by the next night`() throws {
        let place = try workplace()
        let complete = try place.stored(Self.dump)
        let export = try place.run("export", "--transactions").output
        let lines = export.split(whereSeparator: \.isNewline).map {
            $0.split(separator: ",", omittingEmptySubsequences: false)
        }
        let header = try #require(lines.first)
        let kept = header.indices.filter {
            ["transaction_id", "original_transaction_id", "environment", "bundle_id"]
                .contains(header[$0])
        }
        let other = try Workplace(on: place.simulator)
        try #require(other.run("init").status == 0)
        let table = try #require(place.simulator.ready.tableFile)
        try #require(other.run("import", table).status == 0)
        let file = try other.folder.write(
            lines.map { line in kept.map { String(line[$0]) }.joined(separator: ",") }
                .joined(separator: "\r\n") + "\r\n", to: "periods.csv")
        let loaded = try other.run("import", "--transactions", file)
        try #require(loaded.status == 0, "\(loaded.errors)")

        let run = try other.run("run", "nightly")
        #expect(run.status == 0, "\(run.errors)\n\(run.output)")
        #expect(try other.reportLines("discrepancies.jsonl").isEmpty)
        let withoutSigned = { (rows: [[String]]) in rows.map { $0.dropLast() } }
        #expect(try withoutSigned(other.stored(Self.dump)) == withoutSigned(complete))
        #expect(try other.run("run", "nightly").status == 0)
        #expect(try other.reportLines("corrections.jsonl").isEmpty)
        #expect(try other.run("verify").status == 0)
    }

    @Test(.timeLimit(.minutes(30)))
    func `of a row that may be somebody else's is filled in once that is settled`() throws {
        let place = try workplace()
        let complete = try place.stored(Self.dump)
        let period = try #require(try oldPeriods(1, place).first)
        let setToken = { (value: String) in
            try place.sql(
                """
                UPDATE subscriptions SET app_account_token = \(value)
                WHERE original_transaction_id = '\(period.of)'
                """)
        }
        let token = try #require(
            try place.stored(
                """
                SELECT app_account_token FROM subscriptions
                WHERE original_transaction_id = '\(period.of)' AND app_account_token <> ''
                """
            ).first?.first)
        try place.sql(
            "UPDATE transactions SET price = NULL WHERE transaction_id = '\(period.id)'")
        let emptied = try place.stored(Self.dump)
        try setToken("'00000000-0000-4000-8000-000000000001'")
        #expect(try place.run("run", "nightly").status == 2)
        #expect(try place.stored(Self.dump) == emptied)
        try setToken("'\(token)'")
        #expect(try place.run("run", "nightly").status == 0)
        #expect(try place.stored(Self.dump) == complete)
    }

    @Test(.timeLimit(.minutes(30)))
    func `with a value that differs or cannot be read is not filled in over it`() throws {
        let place = try workplace()
        let chosen = try oldPeriods(2, place)
        try place.sql(
            """
            UPDATE transactions SET price = 1 WHERE transaction_id = '\(chosen[0].id)';
            UPDATE transactions SET price = 'ten', currency = NULL
            WHERE transaction_id = '\(chosen[1].id)';
            """)
        let before = try place.stored(Self.dump)
        let run = try place.run("run", "nightly")
        #expect(run.status == 3, "\(run.errors)\n\(run.output)")
        #expect(try place.stored(Self.dump) == before)
        #expect(
            Set(try place.reportLines("discrepancies.jsonl").compactMap { $0["kind"] as? String })
                == ["price", "unreadable_value"])
        #expect(try place.run("verify").status == 0)
    }
}
