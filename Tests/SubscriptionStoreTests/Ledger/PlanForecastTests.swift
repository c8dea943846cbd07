import SubscriptionStore
import Subscriptions
import Testing

/// What a plan would do now, before it is applied.
@Suite struct `What a plan would do` {
    private func fates(_ store: SQLiteStore, _ plan: PlanSeal) throws -> [String: CorrectionFate] {
        var fates: [String: CorrectionFate] = [:]
        try store.forEachApplication(
            ofPlan: plan.sha256, at: Timestamp(unixMilliseconds: Night.start)
        ) { correction, fate in
            fates[correction.subscription.originalTransactionID] = fate
        }
        return fates
    }

    @Test
    func `is written, is left where the row changed, and is named where it was written before`()
        async throws
    {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load(["1", "2", "3"].map { subscription($0) })
        let night = try await Night.begin(store, Night.header("check", mode: .check))
        for id in ["1", "2", "3"] { try await night.stage(drift(id)) }
        try await night.stage(missing("9"))
        let plan = try #require(try await night.conclude(status: .findings).summary().plan)
        #expect(
            try fates(store, plan) == ["1": .planned, "2": .planned, "3": .planned, "9": .planned])
        try database.execute(
            "UPDATE subscriptions SET status = 5 WHERE original_transaction_id = '2'")
        try database.execute(
            """
            INSERT INTO subscriptions (bundle_id, environment, original_transaction_id)
            SELECT bundle_id, environment, '9' FROM subscriptions LIMIT 1
            """)
        let rows = try database.rows("SELECT * FROM subscriptions")
        #expect(
            try fates(store, plan) == ["1": .planned, "2": .stale, "3": .planned, "9": .stale])
        #expect(try database.rows("SELECT * FROM subscriptions") == rows)

        let applying = try await Night.begin(store, Night.header("apply", job: "apply nightly"))
        try await store.stagePlan(plan.sha256, in: applying.pass, run: applying.run)
        try await applying.apply()
        _ = try await applying.conclude()
        #expect(
            try fates(store, plan) == ["1": .applied, "2": .stale, "3": .applied, "9": .stale])
    }
}
