import SubscriptionStore
import Subscriptions
import Testing

/// A plan that is applied after its rows were written by somebody else.
@Suite struct `Rows that moved since the plan` {
    private func planned(_ store: SQLiteStore) async throws -> PlanSeal {
        try store.load(["1", "2"].map { subscription($0) })
        let check = try await Night.begin(store, Night.header("check", mode: .check))
        try await check.stage(drift("1"), drift("2"))
        return try #require(try await check.conclude(status: .findings).summary().plan)
    }

    /// A night that finds and writes the same by itself.
    private func correct(_ store: SQLiteStore) async throws {
        let night = try await Night.begin(
            store, Night.header("night", at: Night.start + 3_600_000))
        try await night.stage(drift("1", signed: 6000), drift("2", signed: 6000))
        try await night.apply()
        try await night.conclude()
    }

    private func apply(_ plan: PlanSeal, _ store: SQLiteStore, as id: String) async throws -> Night
    {
        var header = Night.header(id, at: Night.start + 7_200_000, job: "apply nightly")
        header.judgesRows = false
        let night = try await Night.begin(store, header)
        try await store.stagePlan(plan.sha256, in: night.pass, run: night.run)
        try await night.apply()
        return night
    }

    private func states(_ database: TemporaryDatabase) throws -> [[String]] {
        try database.rows(
            "SELECT original_transaction_id, state FROM trueup_findings ORDER BY 1")
    }

    @Test func `what stands as planned is done: nothing is found, nothing is asked`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let plan = try await planned(store)
        try await correct(store)
        let before = try database.rows("SELECT * FROM subscriptions")
        let night = try await apply(plan, store, as: "apply")
        let unwritten = try await store.unwritten(
            of: night.pass, now: Timestamp(unixMilliseconds: Night.start))
        #expect(unwritten.counts == [.stale: 2])
        #expect(unwritten.asPlanned == 2)
        #expect(try await store.unresolvedFindings(of: night.pass) == [:])
        let record = try await night.conclude(status: .stale)
        #expect(try record.findings().isEmpty)
        #expect(try record.undecided().isEmpty)
        #expect(try record.fates() == [.stale, .stale])
        #expect(try record.summary().totals.matched == 2)
        #expect(try states(database) == [["1", "corrected"], ["2", "corrected"]])
        #expect(try database.rows("SELECT * FROM trueup_agenda").isEmpty)
        #expect(try database.rows("SELECT * FROM subscriptions") == before)
    }

    @Test func `a run that goes on with a killed one does not find it again`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let plan = try await planned(store)
        try await correct(store)
        _ = try await apply(plan, store, as: "killed")
        let night = try await apply(plan, store, as: "next")
        #expect(try await night.conclude(status: .stale).findings().isEmpty)
        #expect(try states(database) == [["1", "corrected"], ["2", "corrected"]])
    }

    @Test func `a row with other values is told of, and asked about by the next night`()
        async throws
    {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let plan = try await planned(store)
        try await correct(store)
        try database.execute(
            "UPDATE subscriptions SET status = 5 WHERE original_transaction_id = '2'")
        let night = try await apply(plan, store, as: "apply")
        #expect(
            try await store.unwritten(of: night.pass, now: Timestamp(unixMilliseconds: Night.start))
                .asPlanned == 1)
        let record = try await night.conclude(status: .stale)
        #expect(try record.findings().map(\.finding.key) == [key("2")])
        #expect(try record.findings().map(\.finding.action) == [.refused])
        #expect(try record.undecided() == ["2": .changedDuringRun])
        let later = try await Night.begin(
            store, Night.header("later", at: Night.start + 86_400_000))
        let pending = try await store.lines(of: .pending, after: nil, limit: 9, in: later.pass)
        #expect(pending.map(\.key) == [key("2")])
        #expect(pending.map(\.reason) == [.heldBack])
    }
}
