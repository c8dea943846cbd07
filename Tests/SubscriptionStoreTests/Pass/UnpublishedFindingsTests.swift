import SubscriptionStore
import Subscriptions
import Testing

/// Invariant: what a run found is owed until a published report shows it.
@Suite struct `Findings of unpublished runs` {
    private let hour: Int64 = 3_600_000

    /// A row whose difference nothing corrects.
    private func refused(_ id: String) -> RowOutcome {
        var result = drift(id)
        result.corrections = []
        result.examined = .statement
        return result
    }

    private func begin(
        _ store: SQLiteStore, _ id: String, after hours: Int64, job: String = "nightly"
    ) async throws -> Night {
        try await store.reportIsAwaited(ofRun: id)
        return try await Night.begin(
            store, Night.header(id, at: Night.start + hours * hour, job: job))
    }

    /// Carries what is open, and ends.
    private func end(_ night: Night, closes: Bool = true) async throws -> SQLiteRunRecord {
        try await night.store.carryOpenFindings(in: night.pass, run: night.run)
        return try await night.conclude(closes: closes)
    }

    private func states(_ record: SQLiteRunRecord) throws -> [String: FindingState] {
        try record.findings().reduce(into: [:]) {
            $0[$1.finding.key?.originalTransactionID ?? ""] = $1.state
        }
    }

    /// A first night that found one row wrong, corrected another, and was killed before its report.
    private func killedNight(
        _ store: SQLiteStore, isPublished: Bool = false, closes: Bool = true
    ) async throws {
        try store.load(["1", "2", "3"].map { subscription($0) })
        let night = try await begin(store, "run-1", after: 0)
        try await night.stage(refused("1"), drift("2"), outcome("3", .match))
        try await night.apply()
        #expect(try await states(end(night, closes: closes)) == ["1": .new, "2": .corrected])
        if isPublished { try await store.reportWasPublished(ofRun: "run-1") }
    }

    @Test(arguments: [false, true])
    func `are new in the next report, and only there`(isPublished: Bool) async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try await killedNight(store, isPublished: isPublished)
        let next = try await begin(store, "run-2", after: 1)
        let isNew: [Severity: Int] = isPublished ? [:] : [.high: 1]
        try await store.carryOpenFindings(in: next.pass, run: next.run)
        #expect(try await store.newFindings(of: next.pass) == isNew)
        #expect(try await store.unresolvedFindings(of: next.pass) == [.high: 1])
        let record = try await next.conclude()
        #expect(
            try states(record) == (isPublished ? ["1": .open] : ["1": .new, "2": .corrected]))
        #expect(
            try record.findings().map(\.finding.action)
                == (isPublished ? [.none] : [.none, .corrected]))
        #expect(try record.summary().money.map(\.findings) == (isPublished ? [1] : [2]))
        try await store.reportWasPublished(ofRun: "run-2")
        let last = try await begin(store, "run-3", after: 2)
        #expect(try await states(end(last)) == ["1": .open])
    }

    @Test func `are repeated until a report stands, even if runs are killed at once`() async throws
    {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try await killedNight(store)
        _ = try await begin(store, "run-2", after: 1)
        _ = try await begin(store, "run-3", after: 2, job: "backfill")
        let ended = try await begin(store, "run-4", after: 3, job: "backfill")
        #expect(try await states(end(ended)) == ["1": .new, "2": .corrected])
        let dropped = try await begin(store, "run-5", after: 4, job: "backfill")
        try await dropped.stage(refused("1"))
        let last = try await begin(store, "run-6", after: 40, job: "backfill")
        #expect(try await states(end(last)) == ["1": .new, "2": .corrected])
    }

    @Test func `that the next run looks at are its own`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try await killedNight(store)
        let next = try await begin(store, "run-2", after: 1)
        try await next.stage(refused("1"))
        let findings = try await end(next).findings()
        #expect(findings.map(\.state) == [.new, .corrected])
        #expect(Set(findings.map(\.firstSeen)) == [Timestamp(unixMilliseconds: Night.start)])
    }

    @Test func `that the next run finds mended are nobody's`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try await killedNight(store)
        let next = try await begin(store, "run-2", after: 1)
        var mended = outcome("1", .match)
        mended.examined = .statement
        try await next.stage(mended)
        #expect(try await states(end(next)) == ["2": .corrected])
        #expect(try store.overview(runs: 5).openFindings.isEmpty)
    }

    @Test func `of a pass that goes on are new there`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try await killedNight(store, closes: false)
        let next = try await begin(store, "run-2", after: 1)
        #expect(next.pass.resumedFrom == "run-1")
        #expect(try await states(end(next, closes: false)) == ["1": .new, "2": .corrected])
        try await store.reportWasPublished(ofRun: "run-2")
        let last = try await begin(store, "run-3", after: 2)
        #expect(last.pass.resumedFrom == "run-2")
        #expect(try await states(end(last))["1"] == .open)
    }

    @Test func `stay with their job when another run tells them`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try await killedNight(store)
        let other = try await begin(store, "run-2", after: 1, job: "recover")
        #expect(try await states(other.conclude()) == ["1": .new, "2": .corrected])
        try await store.reportWasPublished(ofRun: "run-2")
        let next = try await begin(store, "run-3", after: 2)
        #expect(try await states(end(next)) == ["1": .open])
    }

    @Test func `wait for a run that judges rows`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try await killedNight(store)
        var header = Night.header("run-2", at: Night.start + hour, job: "apply 1")
        header.judgesRows = false
        try await store.reportIsAwaited(ofRun: "run-2")
        let plan = try await Night.begin(store, header)
        #expect(try await plan.conclude().findings().isEmpty)
        try await store.reportWasPublished(ofRun: "run-2")
        let next = try await begin(store, "run-3", after: 2)
        #expect(try await states(end(next)) == ["1": .new, "2": .corrected])
    }

    @Test func `of notifications stand in the audit, too`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let notification = RecordedNotification(
            evidence: payload("n"), notificationUUID: "u-1", notificationType: "DID_RENEW",
            subtype: nil, signedDate: Timestamp(unixMilliseconds: 5),
            originalTransactionID: "1", sendAttempts: [])
        var finding = Finding(kind: .notificationMissed, severity: .high, row: subscription("1"))
        finding.field = "u-1"
        finding.action = .recovered
        let night = try await begin(store, "run-1", after: 0)
        try await store.record(
            RecordedPage(fresh: [notification], findings: [finding], intoInbox: true), of: app,
            in: night.pass, run: night.run)
        _ = try await end(night)
        for (run, isPending) in [("run-2", true), ("run-3", false)] {
            let record = try await end(try await begin(store, run, after: isPending ? 1 : 2))
            #expect(try record.findings().map(\.state) == (isPending ? [.corrected] : []))
            var audited: [String] = []
            try record.forEachNotification { audited.append($0.verdict) }
            #expect(audited == (isPending ? ["missed"] : []))
            try await store.reportWasPublished(ofRun: run)
        }
    }
}
