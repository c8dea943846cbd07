import Foundation
import TestSupport
import Testing

/// What the company's services may leave in a column: nothing, empty text, and what is no value of
/// that column at all.
@Suite struct `A stored value` {
    private static let dump = """
        SELECT original_transaction_id, hex(customer_id), quote(app_account_token),
            quote(product_id), quote(status), quote(expires_date),
            quote(grace_period_expires_date), quote(auto_renew_status),
            quote(auto_renew_product_id), quote(revocation_date), quote(in_app_ownership_type),
            quote(latest_transaction_id), quote(web_order_line_item_id), quote(signed_date)
        FROM subscriptions ORDER BY original_transaction_id
        """

    private func workplace() throws -> Workplace {
        let simulator = try RunningSimulator([
            "--customers", "60", "--drift", "0", "--seed", "7",
        ])
        let place = try Workplace(on: simulator)
        try #require(place.run("init").status == 0)
        let imported = try place.run("import", try #require(simulator.ready.tableFile))
        try #require(imported.status == 0, "\(imported.errors)")
        try place.writeJob("again", "settle: 0s")
        return place
    }

    private func set(_ column: String, to value: String, inRow row: Int, _ place: Workplace) throws
    {
        try place.sql(
            """
            UPDATE subscriptions SET \(column) = \(value) WHERE original_transaction_id = (
                SELECT original_transaction_id FROM subscriptions
                ORDER BY original_transaction_id LIMIT 1 OFFSET \(row))
            """)
    }

    private func totals(_ place: Workplace) throws -> [String: Int] {
        try #require(try place.summary()["totals"] as? [String: Int])
    }

    @Test(.timeLimit(.minutes(30)))
    func `that is empty is filled in, counted as filled, and can be taken back`() throws {
        let place = try workplace()
        let columns = [
            "product_id", "expires_date", "auto_renew_status", "auto_renew_product_id",
            "in_app_ownership_type", "latest_transaction_id", "web_order_line_item_id",
        ]
        let complete = try place.rows(without: ["signed_date"])
        for (index, column) in columns.enumerated() {
            try set(column, to: "NULL", inRow: 2 * index, place)
            try set(column, to: "''", inRow: 2 * index + 1, place)
        }
        let emptied = try place.stored(Self.dump)

        let check = try place.run("check", "nightly")
        #expect(check.status == 0, "\(check.errors)\n\(check.output)")
        #expect(try place.stored(Self.dump) == emptied)
        #expect(try totals(place)["filled"] == 14)
        #expect(try place.report("summary.txt").contains("filled"))

        let run = try place.run("run", "nightly")
        #expect(run.status == 0, "\(run.errors)\n\(run.output)")
        let filledBy = try #require(try place.summary()["run_id"] as? String)
        #expect(try place.reportLines("discrepancies.jsonl").isEmpty)
        let entries = try place.reportLines("corrections.jsonl")
        #expect(entries.count == 14)
        for entry in entries {
            #expect((entry["kinds"] as? [String])?.isEmpty == true)
            let after = try #require(entry["after"] as? [String: Any])
            #expect(after.keys.contains { columns.contains($0) })
        }
        #expect(try totals(place)["filled"] == 14)
        #expect(try totals(place)["discrepant"] == 0)
        #expect(try totals(place)["matched"] == totals(place)["in_scope"])
        #expect(try place.rows(without: ["signed_date"]) == complete)

        #expect(try place.run("run", "again").status == 0)
        #expect(try place.reportLines("corrections.jsonl").isEmpty)
        #expect(try totals(place)["filled"] == 0)

        let undone = try place.run("undo", filledBy, "--execute")
        #expect(undone.status == 0, "\(undone.errors)")
        #expect(try place.stored(Self.dump) == emptied)
        let verified = try place.run("verify")
        #expect(verified.status == 0, "\(verified.output)")
    }

    @Test(.timeLimit(.minutes(30)))
    func `that is not of its column's form is a finding of its own and stays as it is`() throws {
        let place = try workplace()
        let broken = [
            "expires_date": "'2026-01-01T00:00:00Z'", "status": "'active'",
            "product_id": "x'0001ff'", "signed_date": "'yesterday'",
            "app_account_token": "x'7e3fb20b4cdb47cc936d99d65f608138'",
            "auto_renew_status": "1.5", "web_order_line_item_id": "CAST(x'ff41' AS TEXT)",
            "revocation_date": "'none'",
            "grace_period_expires_date": "'\(String(repeating: "9", count: 30_000))'",
            "latest_transaction_id": "CAST(x'410042' AS TEXT)",
        ]
        for (index, item) in broken.sorted(by: { $0.key < $1.key }).enumerated() {
            try set(item.key, to: item.value, inRow: index, place)
        }
        // Empty text is nothing, and the customer's form is the company's own affair.
        try set("app_account_token", to: "''", inRow: 20, place)
        try place.sql(
            """
            UPDATE subscriptions SET revocation_date = '' WHERE original_transaction_id = (
                SELECT original_transaction_id FROM subscriptions WHERE status = 1
                ORDER BY original_transaction_id DESC LIMIT 1)
            """)
        try set("customer_id", to: "x'ff00fe'", inRow: 22, place)
        let before = try place.stored(Self.dump)

        let run = try place.run("run", "nightly")
        #expect(run.status == 3, "\(run.errors)\n\(run.output)")
        let findings = try place.reportLines("discrepancies.jsonl")
        #expect(Set(findings.compactMap { $0["field"] as? String }) == Set(broken.keys))
        #expect(findings.count == broken.count)
        for finding in findings {
            #expect(finding["kind"] as? String == "unreadable_value")
            #expect(finding["severity"] as? String == "high")
            #expect(finding["action"] as? String == "none")
            let shown = try #require(finding["local_value"] as? String)
            #expect(!shown.isEmpty && shown.count < 200)
        }
        let iso = findings.first { $0["field"] as? String == "expires_date" }
        #expect(iso?["local_value"] as? String == "2026-01-01T00:00:00Z")
        #expect(try totals(place)["undecided"] == broken.count)
        #expect(
            try place.report("undecided.csv").split(whereSeparator: \.isNewline)
                .count { $0.contains("unreadable_value") } == broken.count)
        let after = try place.stored(Self.dump)
        for (index, row) in before.enumerated() where index != 20 { #expect(after[index] == row) }
        #expect(try place.reportLines("corrections.jsonl").count <= 1)
        #expect(try place.run("export").output.contains("2026-01-01T00:00:00Z"))
        let verified = try place.run("verify")
        #expect(verified.status == 0, "\(verified.output)")
    }

    @Test(.timeLimit(.minutes(30)), arguments: [false, true])
    func `that is bytes survives an export and its import`(asJSON: Bool) throws {
        let place = try workplace()
        let long = String(repeating: "0aff", count: 40)
        let stored = [
            ("customer_id", "x'7e3fb20b4cdb47cc936d99d65f608138'"),
            ("customer_id", "x'00000000000000000000000000000000'"),
            ("customer_id", "x'616263'"), ("customer_id", "x'\(long)'"),
            ("customer_id", "CAST(x'ff41' AS TEXT)"), ("customer_id", "CAST(x'410042' AS TEXT)"),
            ("product_id", "x'7e3fb20b4cdb47cc936d99d65f608138'"), ("product_id", "x'616263'"),
            ("app_account_token", "x'\(long)'"), ("product_id", "CAST(x'ff41' AS TEXT)"),
            ("auto_renew_product_id", "CAST(x'\(long)' AS TEXT)"),
            ("in_app_ownership_type", "CAST(x'410042' AS TEXT)"),
        ]
        for (row, item) in stored.enumerated() {
            try set(item.0, to: item.1, inRow: row, place)
        }
        let query = """
            SELECT original_transaction_id, typeof(customer_id), hex(customer_id),
                typeof(product_id), hex(product_id), typeof(app_account_token),
                hex(app_account_token), hex(auto_renew_product_id), hex(in_app_ownership_type),
                row_version
            FROM subscriptions ORDER BY original_transaction_id
            """
        let before = try place.stored(query)
        let exported = try place.run(asJSON ? ["export", "--json"] : ["export"])
        #expect(exported.status == 0, "\(exported.errors)")
        let file = try place.folder.write(
            exported.output, to: asJSON ? "exported.jsonl" : "exported.csv")
        let imported = try place.run("import", file)
        #expect(imported.status == 0, "\(imported.errors)")
        #expect(try place.stored(query) == before)

        // Elsewhere two customers stay two, each by the digits that everything shows of it.
        let elsewhere = try Workplace(on: place.simulator)
        try #require(elsewhere.run("init").status == 0)
        try #require(elsewhere.run("import", file).status == 0)
        let names = try elsewhere.stored(
            "SELECT customer_id FROM subscriptions ORDER BY original_transaction_id LIMIT 2")
        #expect(
            names == [
                ["7e3fb20b4cdb47cc936d99d65f608138"], ["00000000000000000000000000000000"],
            ])
        #expect(try elsewhere.run("export").output == place.run("export").output)
    }
}
