import Foundation
import TestSupport
import Testing

/// The forecast against what a run then really asked.
@Suite struct `An estimate` {
    private func workplace(customers: Int) throws -> Workplace {
        let simulator = try RunningSimulator([
            "--customers", "\(customers)", "--drift", "0", "--seed", "11",
        ])
        let place = try Workplace(on: simulator)
        try #require(place.run("init").status == 0)
        let imported = try place.run("import", try #require(simulator.ready.tableFile))
        try #require(imported.status == 0, "\(imported.errors)")
        return place
    }

    private struct Forecast {
        let object: [String: Any]

        func expected(_ endpoint: String) -> Int? {
            let calls = object["calls"] as? [[String: Any]]
            return calls?.first { $0["endpoint"] as? String == endpoint }?["expected"] as? Int
        }

        var questions: [String: Int] { object["questions"] as? [String: Int] ?? [:] }
    }

    private func estimate(_ job: String, in place: Workplace) throws -> Forecast {
        let file = place.folder.url.appendingPathComponent("trueup.sqlite")
        let before = try Data(contentsOf: file)
        let result = try place.run("estimate", job, "--json")
        try #require(result.status == 0, "\(result.errors)")
        #expect(try Data(contentsOf: file) == before)
        let object = try JSONSerialization.jsonObject(with: Data(result.output.utf8))
        return Forecast(object: try #require(object as? [String: Any]))
    }

    /// All calls of an endpoint that the newest run made.
    private func made(_ endpoint: String, in place: Workplace) throws -> Int {
        let rows = try place.stored(
            """
            SELECT ifnull(sum(calls), 0) FROM trueup_run_calls
            WHERE run_seq = (SELECT max(run_seq) FROM trueup_runs) AND endpoint = '\(endpoint)'
            """)
        return try #require(rows.first?.first.flatMap { Int($0) })
    }

    @Test(.timeLimit(.minutes(30)))
    func `of a nightly job tells its status calls, for the first night and the second`() throws {
        let place = try workplace(customers: 60)
        try place.writeJob("nightly", "settle: 0s")
        var pages: Int?
        for night in 1...2 {
            let forecast = try estimate("nightly", in: place)
            let run = try place.run("run", "nightly")
            try #require(run.status == 0, "\(run.errors)\n\(run.output)")
            #expect(
                try forecast.expected("subscription_statuses")
                    == made("subscription_statuses", in: place), "night \(night)")
            // Known from the second night on: as many as the night before.
            #expect(forecast.expected("notification_history") == pages)
            // The report says the same beside what was needed.
            let coverage = try #require(try place.summary()["coverage"] as? [String: Any])
            let kept = try #require(coverage["forecast"] as? [String: Any])
            let calls = try #require(kept["calls"] as? [String: Int])
            #expect(
                calls["subscription_statuses"] == forecast.expected("subscription_statuses"))
            #expect(calls["notification_history"] == pages)
            #expect(kept["questions"] as? Int == forecast.questions.values.reduce(0, +))
            #expect(run.output.contains("forecast"), "\(run.output)")
            pages = try made("notification_history", in: place)
        }
    }

    @Test(.timeLimit(.minutes(30)))
    func `of a delta walk tells its questions by reason, for the first night and the second`()
        throws
    {
        let place = try workplace(customers: 60)
        try place.folder.write(
            """
            steps: [walk]
            mode: apply
            coverage: delta
            settle: 0s
            sample: 100000
            guards: {max_changes: 100000, max_change_share: 1, max_not_found_share: 1}

            """, to: "jobs/delta.yaml")
        let rows = try place.rows().count
        for night in 1...2 {
            // What somebody wrote to our own table is seen before Apple is asked.
            if night == 2 {
                try place.sql(
                    """
                    UPDATE subscriptions SET product_id = 'x' WHERE original_transaction_id =
                        (SELECT min(original_transaction_id) FROM subscriptions)
                    """
                )
            }
            let forecast = try estimate("delta", in: place)
            if night == 1 { #expect(forecast.questions == ["never": rows]) }
            if night == 2 {
                #expect(forecast.questions["changed"] == 1)
                #expect(forecast.questions.values.reduce(0, +) == rows)
            }
            let run = try place.run("run", "delta")
            try #require([0, 2].contains(run.status), "\(run.errors)\n\(run.output)")
            #expect(
                try forecast.expected("subscription_statuses")
                    == made("subscription_statuses", in: place), "night \(night)")
        }
    }

    @Test(.timeLimit(.minutes(30)))
    func `counts what is owed once, whether a row holds it or not`() throws {
        let place = try workplace(customers: 5)
        let ids = try place.stored("SELECT min(original_transaction_id) FROM subscriptions")
        let held = try #require(ids.first?.first)
        let bundle = place.simulator.ready.bundleID
        for (id, reason) in [(held, 1), ("4711", 0), ("4712", 1)] {
            try place.sql(
                """
                INSERT INTO trueup_agenda (bundle_id, environment, original_transaction_id,
                    reason, turn, since)
                VALUES ('\(bundle)', 'Production', '\(id)', \(reason), 0, 0)
                """)
        }
        try place.writeJob("recover", "settle: 0s", steps: "[recover]")
        let pending = try estimate("recover", in: place)
        // A row that is gone is nobody's question.
        #expect(pending.questions == ["held_back": 1, "notification": 1])
        #expect(pending.expected("subscription_statuses") == 2)
        try place.writeJob("nightly", "settle: 0s")
        let everybody = try estimate("nightly", in: place)
        let rows = try place.rows().count
        #expect(
            everybody.questions == ["held_back": 1, "notification": 1, "round": rows - 1])
    }
}
