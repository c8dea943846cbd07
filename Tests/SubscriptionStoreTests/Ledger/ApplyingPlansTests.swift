import SubscriptionStore
import Subscriptions
import Testing

/// A plan that one run makes and another applies.
@Suite struct `Applying plans` {
    /// A check that plans drift of these rows, concluded.
    private func checked(
        _ database: TemporaryDatabase, _ ids: [String] = ["1", "2", "3"]
    ) async throws -> (store: SQLiteStore, plan: PlanSeal) {
        let store = try database.open()
        try store.load(ids.map { subscription($0) })
        let night = try await Night.begin(store, Night.header("check", mode: .check))
        for id in ids { try await night.stage(drift(id)) }
        try await night.stage(missing("9"))
        let record = try await night.conclude(status: .findings)
        return (store, try #require(try record.summary().plan))
    }

    /// A run that applies a plan; killed after so many corrections.
    @discardableResult
    private func apply(
        _ plan: PlanSeal, _ store: SQLiteStore, run: String, killedAfter limit: Int? = nil,
        at milliseconds: Int64 = Night.start
    ) async throws -> SQLiteRunRecord? {
        let night = try await Night.begin(
            store, Night.header(run, at: milliseconds, job: "apply nightly"))
        try await store.stagePlan(plan.sha256, in: night.pass, run: night.run)
        if let limit {
            _ = try await store.applyPlanned(
                limit: limit, in: night.pass, run: night.run, at: night.run.started)
            return nil
        }
        try await night.apply()
        return try await night.conclude()
    }

    private func state(_ database: TemporaryDatabase) throws -> [[String]] {
        try database.rows("SELECT * FROM subscriptions")
            + database.rows("SELECT entry, hash FROM trueup_ledger")
    }

    @Test func `takes a finding over with when it changed at Apple`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let changed = Timestamp(unixMilliseconds: Night.start - 3_600_000)
        var drifted = drift("1")
        for index in drifted.findings.indices { drifted.findings[index].changedAt = changed }
        let night = try await Night.begin(store, Night.header("check", mode: .check))
        try await night.stage(drifted)
        let plan = try #require(try await night.conclude(status: .findings).summary().plan)
        let applying = try await Night.begin(store, Night.header("apply", job: "apply nightly"))
        try await store.stagePlan(plan.sha256, in: applying.pass, run: applying.run)
        let taken = try await store.findingsToExplain(after: nil, limit: 9, in: applying.pass)
        #expect(!taken.isEmpty)
        #expect(taken.allSatisfy { $0.finding.changedAt == changed })
    }

    @Test func `writes what was planned, under the plan's identity`() async throws {
        let database = try TemporaryDatabase()
        let (store, plan) = try await checked(database)
        #expect(plan.changes == 4)
        #expect(plan.head.plannedBy == "check")
        let record = try #require(try await apply(plan, store, run: "apply"))
        let entries = try record.entries()
        #expect(entries.map(\.plan) == Array(repeating: plan.sha256, count: 4))
        #expect(entries.map(\.action) == [.update, .update, .update, .insert])
        #expect(entries.map(\.rowVersion) == [2, 2, 2, 1])
        #expect(entries.allSatisfy { $0.host == "host" && $0.actor == "ops@host" })
        #expect(try record.summary().plan == plan)
        #expect(try record.fates() == [.applied, .applied, .applied, .applied])
        #expect(try record.evidence().count == 7)
        // The findings that it mended are the applying run's to report.
        #expect(
            try record.findings().map(\.finding.action)
                == [.corrected, .corrected, .corrected, .inserted])
        #expect(try record.summary().totals.discrepant == 3)
        let known = try #require(try store.knownPlan(plan.sha256))
        #expect(known.appliedBy == "apply")
        #expect(
            try database.value("SELECT count(*) FROM trueup_findings WHERE state = 'corrected'")
                == "4")
    }

    @Test func `applied twice is applied once`() async throws {
        let database = try TemporaryDatabase()
        let (store, plan) = try await checked(database)
        try await apply(plan, store, run: "first")
        let before = try state(database)
        let second = try #require(try await apply(plan, store, run: "second"))
        #expect(try state(database) == before)
        #expect(try second.entries().isEmpty)
        #expect(try second.fates() == Array(repeating: .applied, count: 4))
    }

    @Test(arguments: [0, 1, 2, 3, 4], [Night.start, Night.start + 2 * 86_400_000])
    func `killed half-way, the next one goes on, also days later`(
        written: Int, at milliseconds: Int64
    ) async throws {
        let database = try TemporaryDatabase()
        let (store, plan) = try await checked(database)
        try await apply(plan, store, run: "killed", killedAfter: written)
        #expect(try store.knownPlan(plan.sha256)?.appliedBy == nil)
        let record = try #require(
            try await apply(plan, store, run: "next", at: milliseconds))
        #expect(try record.fates() == Array(repeating: .applied, count: 4))
        // What the killed one wrote is reported by the next one, and nothing is written twice.
        #expect(try record.entries().map(\.number) == [1, 2, 3, 4])
        #expect(try database.value("SELECT max(row_version) FROM subscriptions") == "2")
    }

    @Test func `rows that moved are left, the others written`() async throws {
        let database = try TemporaryDatabase()
        let (store, plan) = try await checked(database)
        try database.execute(
            "UPDATE subscriptions SET customer_id = 'c' WHERE original_transaction_id = '2'")
        try store.load([subscription("9", status: 5)])
        let night = try await Night.begin(store, Night.header("apply", job: "apply nightly"))
        try await store.stagePlan(plan.sha256, in: night.pass, run: night.run)
        try await night.apply()
        let unwritten = try await store.unwritten(
            of: night.pass, now: Timestamp(unixMilliseconds: Night.start))
        #expect(unwritten.counts == [.stale: 2])
        #expect(unwritten.named == [.stale: ["2", "9"]])
        let record = try await night.conclude(status: .stale)
        #expect(try record.fates() == [.applied, .stale, .applied, .stale])
        #expect(try record.undecided() == ["2": .changedDuringRun])
        #expect(try store.knownPlan(plan.sha256)?.appliedBy == "apply")
    }

    @Test func `a refused row leaves the plan to be applied again`() async throws {
        let database = try TemporaryDatabase()
        let (store, plan) = try await checked(database)
        try database.execute(
            """
            CREATE TRIGGER guard BEFORE UPDATE ON subscriptions
            WHEN NEW.original_transaction_id = '2' BEGIN SELECT RAISE(ABORT, 'no'); END
            """)
        try await apply(plan, store, run: "first")
        #expect(try store.knownPlan(plan.sha256)?.appliedBy == nil)
        try database.execute("DROP TRIGGER guard")
        let second = try #require(try await apply(plan, store, run: "second"))
        #expect(try second.entries().map(\.subscription.originalTransactionID) == ["2"])
        #expect(try store.knownPlan(plan.sha256)?.appliedBy == "second")
    }

    @Test func `nothing is written without its evidence`() async throws {
        let database = try TemporaryDatabase()
        let (store, plan) = try await checked(database)
        try database.execute(
            """
            DELETE FROM trueup_evidence
            WHERE digest = '\(payload("renewal2-2").digest.hexadecimal)'
            """)
        let record = try #require(try await apply(plan, store, run: "apply"))
        #expect(try record.fates() == [.applied, .unproven, .applied, .applied])
        #expect(try record.entries().count == 3)
    }

    @Test func `the identity is the content's and the database's`() async throws {
        let database = try TemporaryDatabase()
        let (store, plan) = try await checked(database)
        let other = try TemporaryDatabase()
        let (otherStore, otherPlan) = try await checked(other)
        #expect(try store.databaseIdentity() != otherStore.databaseIdentity())
        #expect(plan.sha256 != otherPlan.sha256)
        #expect(try otherStore.knownPlan(plan.sha256) == nil)
        let night = try await Night.begin(otherStore, Night.header("x", job: "apply nightly"))
        await #expect(throws: StoreError.self) {
            try await otherStore.stagePlan(plan.sha256, in: night.pass, run: night.run)
        }
    }

    @Test(arguments: [
        "UPDATE trueup_pass_corrections SET changes = replace(changes, 'i2;', 'i5;')",
        "DELETE FROM trueup_pass_corrections WHERE original_transaction_id = '3'",
    ])
    func `a plan that was changed in the database is not applied`(tampering: String) async throws {
        let database = try TemporaryDatabase()
        let (store, plan) = try await checked(database)
        try database.execute(tampering)
        await #expect(throws: StoreError.self) {
            try await apply(plan, store, run: "apply")
        }
        #expect(try database.value("SELECT count(*) FROM trueup_ledger") == "0")
    }

    @Test func `what is staged after the seal makes another plan`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1"), subscription("2")])
        let night = try await Night.begin(store, Night.header("run"))
        try await night.stage(drift("1"))
        let first = try await store.sealPlan(of: night.pass, run: night.run)
        #expect(try await store.sealPlan(of: night.pass, run: night.run) == first)
        try await night.stage(drift("2"))
        let second = try await store.sealPlan(of: night.pass, run: night.run)
        #expect(second.sha256 != first.sha256)
        #expect(second.changes == 2)
    }

    @Test func `names the apps whose rows it changes, and no other`() async throws {
        let database = try TemporaryDatabase()
        let (store, plan) = try await checked(database)
        let other = AppIdentity(bundleID: "com.example.other", environment: .sandbox)
        try store.load([
            LocalSubscription(key: SubscriptionKey(app: other, originalTransactionID: "8"))
        ])
        #expect(try store.apps(ofPlan: plan.sha256) == [app])
    }

    @Test func `the guards see what the planning run looked at`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1"), subscription("2")])
        let night = try await Night.begin(store, Night.header("check", mode: .check))
        try await night.stage(drift("1"), outcome("2", .match))
        let plan = try #require(try await night.conclude().summary().plan)
        let totals = try await store.planTotals(ofPlan: plan.sha256)
        #expect(totals.totals.inScope == 2)
    }

    @Test(arguments: [
        ([], 500), (["app \(app.name)"], 500), (["app \(app.name)", "limit 2"], nil),
    ])
    func `the guards see how many rows the planning run was about`(
        filters: [String], rows: Int?
    ) async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1"), subscription("2")])
        var header = Night.header("check", mode: .check)
        header.filters = filters
        let night = try await Night.begin(store, header)
        try await night.stage(drift("1"), outcome("2", .match))
        let seal = try await store.sealPlan(of: night.pass, run: night.run)
        var coverage = RunCoverage(kind: .delta)
        coverage.rows = 500
        var conclusion = RunConclusion(
            ended: night.run.started.adding(milliseconds: 1000), statuses: [.findings],
            messages: [], limits: [], calls: [], closesPass: true)
        conclusion.coverage = coverage
        try await store.conclude(conclusion, in: night.pass, run: night.run)
        #expect(try await store.planTotals(ofPlan: seal.sha256).tableCoverage == rows)
    }

    @Test(arguments: [
        "UPDATE trueup_ledger SET reason = 'x' WHERE entry = 1",
        "DELETE FROM trueup_ledger WHERE entry = 4",
        "INSERT OR REPLACE INTO trueup_ledger SELECT * FROM trueup_ledger WHERE entry = 1",
        """
        INSERT INTO trueup_ledger (entry, previous_hash, hash, run_id, kinds, target_table,
            bundle_id, environment, original_transaction_id, changes, evidence,
            apple_signed_date, written_at, actor, reason)
        VALUES (5, 'a', 'b', 'c', '', 'subscriptions', '', '', '', '', '', 0, 0, '', '')
        """,
        "UPDATE trueup_database SET id = 'x'", "DELETE FROM trueup_database",
        "INSERT INTO trueup_database VALUES ('x')",
    ])
    func `ledger and identity refuse every other writer`(sql: String) async throws {
        let database = try TemporaryDatabase()
        let (store, plan) = try await checked(database)
        try await apply(plan, store, run: "apply")
        let before = try state(database)
        #expect(throws: (any Error).self) { try database.execute(sql) }
        #expect(try state(database) == before)
    }
}
