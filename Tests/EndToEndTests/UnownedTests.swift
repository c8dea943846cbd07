import Foundation
import TestSupport
import Testing

/// Purchases whose owner is not known, as a person finds them in the report of a run.
@Suite(.timeLimit(.minutes(30))) struct `A purchase without a known owner` {
    private static let nights = Result { try Nights() }

    private struct Nights: Sendable {
        let simulator: RunningSimulator
        let place: Workplace
        let run: String
        /// One row without a customer, one without a token, one with the token of another row.
        let rows: [[String]]

        init() throws {
            simulator = try RunningSimulator(["--customers", "20", "--drift", "0", "--seed", "5"])
            place = try Workplace(on: simulator)
            try place.writeJob("nightly", "settle: 0s")
            try #require(place.run("init").status == 0)
            try #require(place.run("import", try #require(simulator.ready.tableFile)).status == 0)
            rows = try place.stored(
                """
                SELECT original_transaction_id, customer_id, app_account_token FROM subscriptions
                WHERE app_account_token <> '' AND customer_id <> '' AND status = 1
                    AND in_app_ownership_type = 'PURCHASED'
                GROUP BY customer_id ORDER BY original_transaction_id LIMIT 3
                """)
            try #require(rows.count == 3)
            try place.sql(
                """
                UPDATE subscriptions SET customer_id = NULL
                WHERE original_transaction_id = '\(rows[0][0])'
                """)
            try place.sql(
                """
                UPDATE subscriptions SET app_account_token = '\(rows[0][2])'
                WHERE original_transaction_id = '\(rows[2][0])'
                """)
            _ = try place.run("run", "nightly")
            // Apple's answer would fill the token in: the row loses it after that.
            try place.sql(
                """
                UPDATE subscriptions SET app_account_token = NULL
                WHERE original_transaction_id = '\(rows[1][0])'
                """)
            _ = try place.run("check", "nightly")
            run = try #require(try place.summary()["run_id"] as? String)
        }
    }

    private func lines(_ place: Workplace) throws -> [[String: String]] {
        let lines = try place.report("unowned.csv").components(separatedBy: "\r\n").dropLast()
        let columns = try #require(lines.first).components(separatedBy: ",")
        return lines.dropFirst().map {
            Dictionary(uniqueKeysWithValues: zip(columns, $0.components(separatedBy: ",")))
        }
    }

    @Test func `is listed with its reason, and counted`() throws {
        let nights = try Self.nights.get()
        let found = try lines(nights.place)
        func reasons(_ place: Int) -> Set<String> {
            Set(
                found.filter { $0["original_transaction_id"] == nights.rows[place][0] }
                    .compactMap { $0["reason"] })
        }
        #expect(reasons(0) == ["no_customer"], "\(found)")
        #expect(reasons(1) == ["no_token"], "\(found)")
        #expect(reasons(2) == ["token_changed"], "\(found)")
        let changed = try #require(found.first { $0["reason"] == "token_changed" })
        #expect(changed["apple_account_token"] == nights.rows[2][2])
        #expect(changed["app_account_token"] == nights.rows[0][2])
        #expect(changed["evidence"]?.count == 64)
        // The row without a customer has the token that this row has by mistake.
        #expect(
            found.contains {
                $0["reason"] == "no_customer" && $0["speaks_for"] == nights.rows[2][1]
                    && $0["because"] == "same_token"
            }, "\(found)")
        let counts = try #require(nights.place.summary()["unowned"] as? [String: Int])
        #expect(counts["no_customer"] == 1 && counts["token_changed"] == 1)
        #expect((counts["no_token"] ?? 0) >= 1)
        #expect(try nights.place.report("summary.txt").contains("OWNER UNKNOWN"))
        #expect(try nights.place.report("report.html").contains("whose owner is not known"))
    }

    @Test func `is listed again as it was when the report is rendered again`() throws {
        let nights = try Self.nights.get()
        let listed = try nights.place.report("unowned.csv")
        let again = try nights.place.run("report", nights.run, "--file", "unowned.csv")
        #expect(again.output == listed)
        let verified = try nights.place.run("verify")
        #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
    }

    /// What the findings prove is found; the rest is named where an auditor reads it.
    @Test func `cannot be edited against the findings and the counts`() throws {
        let nights = try Self.nights.get()
        let reports = nights.place.folder.url.appendingPathComponent("reports")
        let root = nights.simulator.ready.rootFile
        func problems(_ edit: (inout [String]) throws -> Void) throws -> String {
            let forged = try ForgedReports(copyOf: reports)
            try forged.editLines(1, "unowned.csv", edit)
            try forged.relink(from: 1)
            return try BuiltExecutable("trueup").run(
                ["verify", forged.directory.path, "--trusted-root", root], in: forged.folder.url
            ).output
        }
        #expect(try problems { _ in }.contains("INTACT"))
        let token = nights.rows[2][2]
        let edited = try problems { lines in
            lines = lines.map { $0.replacing(token, with: token.replacing("-", with: "a")) }
        }
        #expect(edited.contains("its apple_account_token is not the apple_value of its finding"))
        let removed = try problems { $0.removeAll { $0.contains("token_changed") } }
        #expect(removed.contains("it lacks the changed token of line"))
        let fewer = try problems { $0.removeAll { $0.contains("no_customer") } }
        #expect(fewer.contains("its unowned.no_customer is 1, unowned.csv has 0"))
        let renamed = try problems { lines in
            lines = lines.map { $0.replacing("no_customer", with: "no_token") }
        }
        #expect(renamed.contains("its reason is no_token, and it has one"))
        #expect(
            try nights.place.report("README.txt").contains("unowned.csv: everything but"))
    }

    @Test func `and a changed entitlement cannot contradict itself`() throws {
        let nights = try Self.nights.get()
        let reports = nights.place.folder.url.appendingPathComponent("reports")
        let forged = try ForgedReports(copyOf: reports)
        let lines = try forged.text(0, "entitlements.csv").components(separatedBy: "\r\n")
        let columns = lines[0].components(separatedBy: ",")
        let change = ["run", "com.example.app", "Production", "c", "pro", "shorter"]
        let line =
            change + ["2026-01-01T00:00:00.000Z", "2027-01-01T00:00:00.000Z"]
            + Array(repeating: "", count: columns.count - change.count - 2)
        try forged.write(
            lines[0] + "\r\n" + line.joined(separator: ",") + "\r\n", 0, "entitlements.csv")
        try forged.relink(from: 0)
        let output = try BuiltExecutable("trueup").run(
            ["verify", forged.directory.path, "--trusted-root", nights.simulator.ready.rootFile],
            in: forged.folder.url
        ).output
        #expect(output.contains("entitlements.csv:2"))
        #expect(output.contains("its change does not fit its dates"))
        #expect(output.contains("it is a row of another run"))
    }
}
