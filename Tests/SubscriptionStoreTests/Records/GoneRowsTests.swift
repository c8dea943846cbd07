import SubscriptionStore
import Subscriptions
import Testing

/// A row that the company deleted says nothing any more of how old what we know is.
@Suite struct `Rows that the company deleted` {
    private func judge(
        _ store: SQLiteStore, _ run: RunHeader, _ signed: KeyValuePairs<String, Int64>
    ) async throws {
        let night = try await Night.begin(store, run)
        for (id, time) in signed {
            var result = outcome(id, .match)
            result.examined = .statement
            result.askedBecause = .never
            result.check = RowCheck(
                signedDate: Timestamp(unixMilliseconds: time), clock: nil, isLasting: true,
                values: ValuesDigest(of: subscription(id)))
            try await night.stage(result)
        }
        var conclusion = RunConclusion(
            ended: run.started, statuses: [.ok], messages: [], limits: [], calls: [],
            closesPass: true)
        conclusion.acceptedTableRows = signed.count
        try await store.conclude(conclusion, in: night.pass, run: run)
    }

    @Test func `count neither as judged nor for the oldest word`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load((1...3).map { subscription("\($0)") })
        try await judge(store, Night.header("run-1"), ["1": 2000, "2": 3000, "3": 4000])
        var overview = try store.overview(runs: 1)
        #expect(overview.judgedRows == 3)
        #expect(overview.oldestCheck == Timestamp(unixMilliseconds: 2000))

        try database.execute("DELETE FROM subscriptions WHERE original_transaction_id = '1'")
        try await judge(store, Night.header("run-2"), [:])
        overview = try store.overview(runs: 1)
        #expect(overview.judgedRows == 2)
        #expect(overview.oldestCheck == Timestamp(unixMilliseconds: 3000))
        #expect(
            try await store.pendingAndOldestCheck(of: [app]).oldestCheck
                == Timestamp(unixMilliseconds: 3000))
    }

    @Test func `are forgotten however many they are`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        try database.execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 21000)
            INSERT INTO trueup_checks (bundle_id, environment, original_transaction_id, asked_at,
                is_lasting, agreed)
            SELECT '\(app.bundleID)', '\(app.environment.rawValue)', printf('%06d', i), 1, 1, 1
            FROM n;
            INSERT INTO trueup_absences VALUES ('\(app.bundleID)',
                '\(app.environment.rawValue)', '7', '2026-11-20', '2026-11-21', 2),
                ('\(app.bundleID)', '\(app.environment.rawValue)', '8', '2026-11-20',
                    '2026-11-21', 2);
            INSERT INTO trueup_agenda (bundle_id, environment, original_transaction_id, reason,
                turn, since)
            VALUES ('\(app.bundleID)', '\(app.environment.rawValue)', '8', 0, 0, 1);
            """)
        try await judge(store, Night.header("run-1"), ["1": 2000])
        #expect(
            try database.rows("SELECT original_transaction_id FROM trueup_checks") == [["1"]])
        // Of what is still asked about it is known since when Apple has not found it.
        #expect(
            try database.rows("SELECT original_transaction_id FROM trueup_absences") == [["8"]])
    }
}
