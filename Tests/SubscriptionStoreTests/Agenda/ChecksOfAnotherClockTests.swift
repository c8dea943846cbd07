import SubscriptionStore
import Subscriptions
import Testing

/// A night whose clock was ahead leaves nothing behind that only its own time would end.
@Suite struct `What was asked under a clock that was ahead` {
    @Test func `counts as asked before the next run, however much it is`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        var ahead = Night.header("run-1")
        let now = ahead.started
        ahead.started = now.adding(milliseconds: 40 * Milliseconds.perDay)
        _ = try await Night.begin(store, ahead).conclude()
        let future = ahead.started.unixMilliseconds
        try database.execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
            INSERT INTO trueup_checks (bundle_id, environment, original_transaction_id, asked_at,
                is_lasting, agreed)
            SELECT '\(app.bundleID)', '\(app.environment.rawValue)', printf('%06d', i),
                iif(i = 7, 5000, \(future)), 1, 1
            FROM n;
            INSERT OR REPLACE INTO trueup_rounds (job, began) VALUES ('nightly', \(future));
            """)

        var look = Night.header("check-1", mode: .check)
        look.started = now
        _ = try await Night.begin(store, look).conclude()
        #expect(
            try database.rows("SELECT count(*) FROM trueup_checks WHERE asked_at = \(future)")
                == [["4999"]])

        var next = Night.header("run-2")
        next.started = now
        _ = try await Night.begin(store, next)
        let before = now.unixMilliseconds - 1
        #expect(
            try database.rows(
                "SELECT asked_at, count(*) FROM trueup_checks GROUP BY 1 ORDER BY 1")
                == [["5000", "1"], ["\(before)", "4999"]])
        #expect(
            try database.rows("SELECT count(*) FROM trueup_rounds WHERE began > \(before + 1)")
                == [["0"]])
    }

    @Test func `stays as it is where no clock went back`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        var first = Night.header("run-1")
        first.started = Timestamp(unixMilliseconds: 9000)
        _ = try await Night.begin(store, first).conclude()
        try database.execute(
            """
            INSERT INTO trueup_checks (bundle_id, environment, original_transaction_id, asked_at,
                is_lasting, agreed)
            VALUES ('\(app.bundleID)', '\(app.environment.rawValue)', '1', 9000, 1, 1)
            """)
        var next = Night.header("run-2")
        next.started = Timestamp(unixMilliseconds: 10_000)
        _ = try await Night.begin(store, next)
        #expect(try database.rows("SELECT asked_at FROM trueup_checks") == [["9000"]])
    }
}
