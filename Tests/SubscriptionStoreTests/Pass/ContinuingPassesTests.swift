import SubscriptionStore
import Subscriptions
import Testing

/// Killed runs: the store is closed without a conclusion and opened again.
@Suite struct `Continuing passes` {
    private let hour: Int64 = 3_600_000

    @Test func `a killed run's judgements, plan and writing carry over`() async throws {
        let database = try TemporaryDatabase()
        do {
            let store = try database.open()
            try store.load(["1", "2", "3", "4"].map { subscription($0) })
            let night = try await Night.begin(store, Night.header("run-1"))
            try await night.stage(
                drift("1"), drift("2"), outcome("3", .match), missing("9"), through: "3")
            #expect(
                try await store.applyPlanned(
                    limit: 1, in: night.pass, run: night.run, at: night.run.started) == 1)
            try store.close()
        }
        let store = try database.open()
        let night = try await Night.begin(
            store, Night.header("run-2", at: Night.start + hour))
        #expect(night.pass.resumedFrom == "run-1")
        #expect(night.pass.walkedThrough == key("3"))
        #expect(try await night.ids(after: "3") == ["4"])
        try await night.stage(outcome("4", .match), through: "4")
        #expect(try await night.apply() == 2)
        let record = try await night.conclude()
        #expect(try record.entries().map(\.runID) == ["run-1", "run-2", "run-2"])
        #expect(try record.summary().corrections == [.applied: 3])
        #expect(try record.summary().totals.inScope == 4)
        #expect(try record.summary().resumedFrom == "run-1")
        let findings = try record.findings()
        #expect(findings.map(\.state) == [.corrected, .corrected, .corrected])
        #expect(Set(findings.map(\.runID)) == ["run-2"])
        let next = try await Night.begin(store, Night.header("run-3", at: Night.start + 2 * hour))
        #expect(next.pass.resumedFrom == nil)
        #expect(try await next.conclude().entries().isEmpty)
    }

    @Test func `a forecast resumes a stopped run for as long as a run would`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.conclude(closes: false)
        func resumes(after hours: Int64) throws -> Bool {
            try store.forecast(
                of: .pending, run: Night.header("run-2", at: Night.start + hours * hour),
                apps: [app], level: { _ in 0 }, due: { _, _ in nil }, place: { _ in .leftOut }
            ).resumes
        }
        #expect(try resumes(after: 1))
        #expect(try !resumes(after: 25))
    }

    @Test func `an inserted row is not in scope when the walk goes on`() async throws {
        let database = try TemporaryDatabase()
        do {
            let store = try database.open()
            try store.load([subscription("1")])
            let night = try await Night.begin(store, Night.header("run-1"))
            try await night.stage(outcome("1", .match), missing("9"), through: "1")
            try await night.apply()
            try store.close()
        }
        let store = try database.open()
        let night = try await Night.begin(store, Night.header("run-2"))
        #expect(try await night.ids(after: "1").isEmpty)
        #expect(try await night.conclude().summary().totals.inScope == 1)
    }

    @Test func `rows that failed are known to the job's next run, those not reached are not`()
        async throws
    {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load(["1", "2", "3"].map { subscription($0) })
        let night = try await Night.begin(store, Night.header("run-1"))
        let keys = ["1", "2", "3"].map { key($0) }
        #expect(try await store.failedLastTime(among: keys, before: night.run).isEmpty)
        try await night.stage(outcome("1", .match), outcome("2", .undecided(.unavailable)))
        #expect(try await store.unreachedRows(in: night.pass, run: night.run) == 1)
        #expect(try await store.judgedID(of: app, in: night.pass) == "1")
        try await night.conclude(closes: false)
        let next = Night.header("run-2", at: Night.start + hour)
        #expect(try await store.failedLastTime(among: keys, before: next) == [key("2")])
        let other = Night.header("run-3", at: Night.start + hour, job: "audit")
        #expect(try await store.failedLastTime(among: keys, before: other).isEmpty)
    }

    @Test func `unreached rows are undecided in the report and asked by the next run`()
        async throws
    {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load(["1", "2", "3"].map { subscription($0, customer: "c" + $0) })
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(
            outcome("1", .undecided(.unavailable)), outcome("2", .undecided(.idNotInAnswer)),
            through: "2")
        let first = try await night.conclude(closes: false, status: .incomplete)
        let expected: [String: UndecidedReason] = [
            "1": .unavailable, "2": .idNotInAnswer, "3": .deadline,
        ]
        #expect(try first.undecided() == expected)
        #expect(try first.summary().totals.inScope == 3)
        let next = try await Night.begin(store, Night.header("run-2", at: Night.start + hour))
        #expect(next.pass.resumedFrom == "run-1")
        #expect(next.pass.walkedThrough == nil)
        #expect(try await next.ids() == ["1", "3"])
        try await next.stage(outcome("1", .match), drift("3"))
        try await next.apply()
        let second = try await next.conclude()
        #expect(try second.undecided() == ["2": .idNotInAnswer])
        #expect(try second.summary().totals.matched == 1)
        // The first run's record stays as it was.
        #expect(try first.undecided() == expected)
        #expect(try first.findings().isEmpty)
        #expect(try first.fates().isEmpty)
    }

    @Test func `an earlier run's record keeps the fates that it saw`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(drift("1"))
        let first = try await night.conclude(closes: false, status: .terminated)
        #expect(try first.findings().map(\.finding.action) == [.planned])
        let next = try await Night.begin(store, Night.header("run-2"))
        try await next.apply()
        let second = try await next.conclude()
        #expect(try second.fates() == [.applied])
        #expect(try first.fates() == [.planned])
        #expect(try first.findings().map(\.finding.action) == [.planned])
        #expect(try first.summary().corrections == [.planned: 1])
        #expect(try second.findings().map(\.state) == [.corrected])
    }

    @Test func `what a dropped pass had written is reported by the next run, once`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(drift("1"))
        try await night.apply()
        let late = try await Night.begin(
            store, Night.header("run-2", at: Night.start + 25 * hour))
        #expect(try await late.conclude().entries().map(\.runID) == ["run-1"])
        let later = try await Night.begin(
            store, Night.header("run-3", at: Night.start + 49 * hour))
        #expect(try await later.conclude().entries().isEmpty)
        #expect(try database.value("SELECT count(*) FROM trueup_pass_rows") == "0")
    }

    @Test(arguments: [false, true])
    func `corrections of a concluded run count as reported once its report stands`(
        isPublished: Bool
    ) async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        try await store.reportIsAwaited(ofRun: "run-1")
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(drift("1"))
        try await night.apply()
        #expect(try await night.conclude().entries().map(\.runID) == ["run-1"])
        if isPublished { try await store.reportWasPublished(ofRun: "run-1") }
        try await store.reportIsAwaited(ofRun: "run-2")
        let next = try await Night.begin(
            store, Night.header("run-2", at: Night.start + 24 * hour))
        let entries = try await next.conclude().entries().map(\.runID)
        #expect(entries == (isPublished ? [] : ["run-1"]))
        try await store.reportWasPublished(ofRun: "run-2")
        let last = try await Night.begin(
            store, Night.header("run-3", at: Night.start + 48 * hour))
        #expect(try await last.conclude().entries().isEmpty)
    }

    @Test func `a recovered app is not read again`() async throws {
        let database = try TemporaryDatabase()
        do {
            let store = try database.open()
            let night = try await Night.begin(store, Night.header("run-1"))
            try await store.finishRecovery(
                of: app,
                read: NotificationWindow(
                    start: Timestamp(unixMilliseconds: 1), end: Timestamp(unixMilliseconds: 5)),
                watermark: Timestamp(unixMilliseconds: 5), in: night.pass)
            try store.close()
        }
        let store = try database.open()
        let night = try await Night.begin(store, Night.header("run-2"))
        #expect(night.pass.recoveredApps == [app])
        #expect(try await store.watermark(of: app) == Timestamp(unixMilliseconds: 5))
    }

    @Test(arguments: [1, 24])
    func `a run reports what a killed one before it found to be lost`(
        hoursLater: Int64
    ) async throws {
        let database = try TemporaryDatabase()
        do {
            let store = try database.open()
            let night = try await Night.begin(store, Night.header("run-1"))
            #expect(night.pass.unreportedShortfalls.isEmpty)
            try await store.finishRecovery(
                of: app,
                read: NotificationWindow(
                    start: Timestamp(unixMilliseconds: 1), end: Timestamp(unixMilliseconds: 5)),
                watermark: Timestamp(unixMilliseconds: 5), shortfall: "A month is lost.",
                in: night.pass)
            try store.close()
        }
        let store = try database.open()
        let later = Night.start + hoursLater * hour
        let other = try await Night.begin(
            store, Night.header("other", mode: .check, at: later, job: "other"))
        #expect(other.pass.unreportedShortfalls.isEmpty)
        let night = try await Night.begin(store, Night.header("run-2", at: later))
        #expect(night.pass.unreportedShortfalls == ["A month is lost."])
        try await night.conclude()
        let next = try await Night.begin(store, Night.header("run-3", at: later + hour))
        #expect(next.pass.unreportedShortfalls.isEmpty)
    }

    @Test func `history goes on from a revision only when all of it was written`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load(["1", "2", "3"].map { subscription($0) })
        func revisions() async throws -> [String?] {
            try await store.scopedRows(["1", "2", "3"]).map(\.historyRevision)
        }
        let check = try await Night.begin(store, Night.header("run-1", mode: .check))
        try await check.stage(outcome("1", .match), revisions: ["1": "r1"])
        try await check.conclude()
        #expect(try await revisions() == [nil, nil, nil])
        let night = try await Night.begin(store, Night.header("run-2"))
        try await night.stage(
            outcome("1", .match), drift("2"), drift("3", version: 9),
            revisions: ["1": "r1", "2": "r2", "3": "r3"])
        try await night.apply()
        #expect(try await revisions() == [nil, nil, nil])
        try await night.conclude()
        #expect(try await revisions() == ["r1", "r2", nil])
    }

    @Test(.timeLimit(.minutes(10)))
    func `very many notifications of one subscription are cleared with their pass`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let night = try await Night.begin(store, Night.header("run-1"))
        try database.execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000)
            INSERT INTO trueup_pass_deliveries
            SELECT \(night.pass.passID), 'com.example.app', 'Production', '1', i / 10, 'n' || i,
                'DID_RENEW', NULL, '', NULL, 0 FROM n
            """)
        try await night.conclude()
        #expect(try database.value("SELECT count(*) FROM trueup_pass_deliveries") == "0")
    }
}
