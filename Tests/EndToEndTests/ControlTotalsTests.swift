import Foundation
import TestSupport
import Testing

/// The control totals of nights against the simulator, held against the tables and the other files.
@Suite struct `Control totals of nights` {
    /// Drift also plants rows of other apps and environments.
    private static let isOfApp = "bundle_id = 'com.example.app' AND environment = 'Production'"

    /// The members of one app in the newest summary.
    private func totals(in place: Workplace) throws -> [String: Any] {
        try #require(
            try apps(in: place).first {
                $0["app"] as? String == "com.example.app"
                    && $0["environment"] as? String == "Production"
            })
    }

    /// Every app's, those that are not configured among them.
    private func apps(in place: Workplace) throws -> [[String: Any]] {
        try #require(try place.summary()["control_totals"] as? [[String: Any]])
    }

    private func rows(_ count: Any?) throws -> [String: Int] {
        let sums = try #require(count as? [String: Any])
        return try #require(sums["rows"] as? [String: Int]).filter { $0.value != 0 }
    }

    private func amounts(_ count: Any?) throws -> [String: Int] {
        let sums = try #require(count as? [String: Any])
        let prices = try #require(sums["prices"] as? [String: [String: Int]])
        return prices.compactMapValues { $0["amount"] }.filter { $0.value != 0 }
    }

    private func stored(_ query: String, in place: Workplace) throws -> [String: Int] {
        try place.stored(query).reduce(into: [:]) { counts, row in
            counts[row[0]] = Int(row[1])
        }
    }

    private func standing(in place: Workplace) throws -> [String: Int] {
        try stored(
            """
            SELECT ifnull(CASE WHEN status BETWEEN 1 AND 5 THEN status END, 'none'), count(*)
            FROM subscriptions WHERE \(Self.isOfApp) GROUP BY 1
            """, in: place)
    }

    private func prices(in place: Workplace) throws -> [String: Int] {
        try stored(
            """
            SELECT ifnull(currency, 'none'), sum(price) FROM transactions
            WHERE \(Self.isOfApp) GROUP BY 1
            """, in: place
        ).filter { $0.value != 0 }
    }

    /// What the lines of `corrections.jsonl` changed of the rows by status.
    private func corrected(in place: Workplace) throws -> [String: Int] {
        var changes: [String: Int] = [:]
        for line in try place.reportLines("corrections.jsonl")
        where line["table"] as? String == "subscriptions" {
            let sides = [(line["before"], -1), (line["after"], 1)]
            for (side, sign) in sides {
                guard let fields = side as? [String: Any], let status = fields["status"] as? Int
                else { continue }
                changes["\(status)", default: 0] += sign
            }
        }
        return changes.filter { $0.value != 0 }
    }

    @Test(.timeLimit(.minutes(30)))
    func `tie with the tables, with the corrections and with the run before`() throws {
        let simulator = try RunningSimulator([
            "--customers", "200", "--drift", "0.2", "--seed", "11",
        ])
        let place = try Workplace(on: simulator)
        try #require(place.run("init").status == 0)
        let imported = try place.run("import", try #require(simulator.ready.tableFile))
        try #require(imported.status == 0, "\(imported.errors)")
        let (rowsBefore, pricesBefore) = (try standing(in: place), try prices(in: place))

        #expect(try place.run("run", "nightly").status == 2)
        let first = try totals(in: place)
        #expect(first["previous"] is NSNull)
        #expect(try rows(first["before"]) == rowsBefore)
        #expect(try amounts(first["before"]) == pricesBefore)
        #expect(try rows(first["after"]) == standing(in: place))
        #expect(try amounts(first["after"]) == prices(in: place))
        #expect(try rows(first["corrections"]) == corrected(in: place))
        #expect(try rows(first["others_meanwhile"]).isEmpty)
        #expect(try amounts(first["others_meanwhile"]).isEmpty)
        let judged = try #require(first["judged"] as? [String: Any])
        let total = try #require(try place.summary()["totals"] as? [String: Int])
        // Rows booked under another bundle are judged, too, and counted under it.
        let both = try #require(total["matched"]) + #require(total["discrepant"])
        for side in ["ours_before", "apple", "ours_after"] {
            let sums = try apps(in: place).map { app in
                try rows((app["judged"] as? [String: Any])?[side]).values.reduce(0, +)
            }
            #expect(sums.reduce(0, +) == both, "\(side)")
        }
        #expect(try rows(judged["ours_before"]).values.reduce(0, +) > 0)
        let all = try stored("SELECT 'rows', count(*) FROM subscriptions", in: place)
        let counted = try apps(in: place).map { try rows($0["after"]).values.reduce(0, +) }
        #expect(counted.reduce(0, +) == all["rows"])
        let others = try place.stored(
            "SELECT DISTINCT bundle_id, environment FROM subscriptions WHERE NOT (\(Self.isOfApp))")
        #expect(counted.count == others.count + 1)

        // A service of the company's writes between two nights.
        let known = try place.reportLines("discrepancies.jsonl").compactMap {
            $0["original_transaction_id"] as? String
        }
        let active = try place.stored(
            """
            SELECT original_transaction_id FROM subscriptions
            WHERE \(Self.isOfApp) AND status = 1 ORDER BY 1
            """
        ).map { $0[0] }
        let id = try #require(active.first { !known.contains($0) })
        try place.sql(
            "UPDATE subscriptions SET status = 3 WHERE original_transaction_id = '\(id)'")
        try place.writeJob("again", "settle: 0s")
        _ = try place.run("run", "again")
        let second = try totals(in: place)
        #expect(try rows(second["previous"]) == rows(first["after"]))
        #expect(try rows(second["others_since"]) == ["1": -1, "3": 1])
        #expect(try amounts(second["others_since"]).isEmpty)
        #expect(try rows(second["corrections"]) == ["1": 1, "3": -1])
        #expect(try rows(second["after"]) == standing(in: place))
        let page = try place.report("report.html")
        #expect(page.contains("Other programs have written to the tables since run"))

        // Rendered again, byte for byte.
        let runID = try #require(try place.summary()["run_id"] as? String)
        let again = try place.run("report", runID, "--file", "report.html")
        #expect(again.status == 0)
        #expect(again.output == page)
    }
}
