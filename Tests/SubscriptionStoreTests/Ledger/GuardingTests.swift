import GRDB
import SubscriptionStore
import Subscriptions
import Testing

/// What the guards remember and see.
@Suite struct `Guarding a plan` {
    private let hour: Int64 = 3_600_000

    private func conclude(_ night: Night, accepting rows: Int?) async throws {
        var conclusion = RunConclusion(
            ended: night.run.started, statuses: [.ok], messages: [], limits: [], calls: [],
            closesPass: true)
        conclusion.acceptedTableRows = rows
        try await night.store.conclude(conclusion, in: night.pass, run: night.run)
    }

    @Test func `the table's size is compared with the last one that was accepted`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load((1...6).map { subscription("\($0)") })
        var night = try await Night.begin(store, Night.header("run-1"))
        let first = try await store.planTotals(of: night.pass)
        #expect(first.tableRows == 6)
        #expect(first.tableRowsBefore == nil)
        try await conclude(night, accepting: first.tableRows)

        try database.execute("DELETE FROM subscriptions WHERE original_transaction_id > '2'")
        for run in ["run-2", "run-3"] {
            night = try await Night.begin(store, Night.header(run))
            let plan = try await store.planTotals(of: night.pass)
            #expect(plan.tableRows == 2)
            #expect(plan.tableRowsBefore == 6)
            try await conclude(night, accepting: nil)
        }
        night = try await Night.begin(store, Night.header("run-4"))
        try await conclude(night, accepting: 2)
        night = try await Night.begin(store, Night.header("run-5"))
        #expect(try await store.planTotals(of: night.pass).tableRowsBefore == 2)
    }

    @Test func `the plan is read correction by correction, written ones included`() async throws {
        let night = try await night(["3", "1", "2"])
        try await night.stage(drift("1"), drift("2"), drift("3"), missing("9"))
        try await night.stage(outcome("3", .match), replaces: true)
        _ = try await night.store.applyPlanned(
            limit: 1, in: night.pass, run: night.run, at: night.run.started)
        let ids = try await night.store.reducePlan(of: night.pass, into: [String]()) {
            ids, correction, _ in ids.append(correction.subscription.originalTransactionID)
        }
        #expect(ids == ["1", "2", "9"])
    }

    private func lift(_ name: GuardName, by run: String) -> GuardLift {
        GuardLift(
            name: name, reason: "a price change", actor: "ops@host",
            liftedAt: Timestamp(unixMilliseconds: Night.start), liftedBy: run, breach: "too many")
    }

    @Test func `what a run lifted stands in its record, whatever comes later`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let night = try await Night.begin(store, Night.header("run-1"))
        let lifts = [lift(.maxChanges, by: "run-1"), lift(.maxShrinkShare, by: "run-0")]
        try await store.recordLifts(lifts, in: night.pass, run: night.run)
        let record = try await night.conclude()
        #expect(try record.summary().liftedGuards == lifts)
        let next = try await Night.begin(store, Night.header("run-2"))
        #expect(try await next.conclude().summary().liftedGuards.isEmpty)
        #expect(try record.summary().liftedGuards == lifts)
        for sql in ["DELETE FROM trueup_guard_lifts", "UPDATE trueup_guard_lifts SET reason = ''"] {
            #expect(throws: DatabaseError.self) { try database.execute(sql) }
        }
    }

    @Test func `a lift goes on with a killed run's plan, not with one that ended`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        var night = try await Night.begin(store, Night.header("run-1"))
        try await store.recordLifts(
            [lift(.maxChanges, by: "run-1")], in: night.pass, run: night.run)
        night = try await Night.begin(store, Night.header("run-2", at: Night.start + hour))
        #expect(night.pass.resumedFrom == "run-1")
        #expect(
            try await store.liftsOfKilledRuns(in: night.pass) == [lift(.maxChanges, by: "run-1")])
        try await store.recordLifts(
            [lift(.maxOwnFault, by: "run-2")], in: night.pass, run: night.run)
        try await night.conclude(closes: false)
        night = try await Night.begin(store, Night.header("run-3", at: Night.start + 2 * hour))
        #expect(night.pass.resumedFrom == "run-2")
        #expect(try await store.liftsOfKilledRuns(in: night.pass).map(\.name) == [.maxChanges])
    }

    // MARK: - Canary

    private func night(_ ids: [String]) async throws -> Night {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load(ids.map { subscription($0) })
        var night = try await Night.begin(store, Night.header("run-1"))
        night.database = database
        return night
    }

    private func choose(_ count: Int, in night: Night) async throws -> Int {
        try await night.store.extendCanary(by: count, in: night.pass, run: night.run)
    }

    private func applyCanary(_ night: Night) async throws -> Int {
        try await night.store.applyPlanned(
            isCanary: true, limit: 100, in: night.pass, run: night.run, at: night.run.started)
    }

    private func written(_ night: Night) async throws -> [String] {
        try await night.store.writtenCanary(of: night.pass).map(\.key.originalTransactionID)
    }

    @Test func `a canary is written before and without the others, the kinds in turn`()
        async throws
    {
        let night = try await night(["1", "2", "3", "4"])
        try await night.stage(drift("1"), drift("2"), drift("3"), drift("4"), missing("9"))
        #expect(try await choose(2, in: night) == 2)
        #expect(try await applyCanary(night) == 2)
        #expect(try await written(night) == ["1", "9"])
        #expect(try await applyCanary(night) == 0)
        #expect(try await night.store.canarySize(of: night.pass) == 2)
        let rows = try await night.store.writtenCanary(of: night.pass)
        #expect(rows.map(\.kindsBefore) == [[.accessUnpaid], [.missingLocally]])
        #expect(try await night.apply() == 3)
        #expect(try await written(night) == ["1", "9"])
    }

    @Test func `a canary goes on after a kill with the same rows`() async throws {
        let night = try await night(["1", "2", "3"])
        try await night.stage(drift("1"), drift("2"), drift("3"))
        #expect(try await choose(2, in: night) == 2)
        var next = try await Night.begin(night.store, Night.header("run-2"))
        next.database = night.database
        #expect(try await next.store.canarySize(of: next.pass) == 2)
        #expect(try await applyCanary(next) == 2)
        #expect(try await written(next) == ["1", "2"])
    }

    @Test func `a row that moved proves nothing and another takes its place`() async throws {
        let night = try await night(["1", "2", "3"])
        try await night.stage(drift("1"), drift("2"), drift("3"))
        try night.database?.execute(
            "UPDATE subscriptions SET product_id = 'new' WHERE original_transaction_id = '1'")
        #expect(try await choose(1, in: night) == 1)
        #expect(try await applyCanary(night) == 1)
        #expect(try await written(night).isEmpty)
        #expect(try await choose(1, in: night) == 1)
        #expect(try await applyCanary(night) == 1)
        #expect(try await written(night) == ["2"])
    }

    @Test func `there is no more to choose than is planned`() async throws {
        let night = try await night(["1", "2"])
        try await night.stage(drift("1"), outcome("2", .match))
        #expect(try await choose(10, in: night) == 1)
        #expect(try await choose(10, in: night) == 0)
    }

    @Test func `a check must not write a canary either`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let night = try await Night.begin(store, Night.header("run-1", mode: .check))
        try await night.stage(drift("1"))
        _ = try await choose(1, in: night)
        await #expect(throws: StoreError.self) { try await applyCanary(night) }
    }
}
