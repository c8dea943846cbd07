import SubscriptionStore
import Subscriptions
import Testing

/// Invariant: what a killed run changed is told once, whichever job runs next.
@Suite struct `Killed runs of a job that does not run again` {
    private static let hour: Int64 = 3_600_000

    private func begin(
        _ store: SQLiteStore, _ id: String, after hours: Int64, job: String = "nightly",
        mode: RunMode = .apply
    ) async throws -> Night {
        try await store.reportIsAwaited(ofRun: id)
        var header = Night.header(
            id, mode: mode, at: Night.start + hours * Self.hour, job: job)
        header.coversEveryRow = false
        return try await Night.begin(store, header)
    }

    /// What the run's report tells, by subscription and state; then the report stands.
    private func publish(_ night: Night, closes: Bool = true) async throws -> [String] {
        try await night.store.carryOpenFindings(in: night.pass, run: night.run)
        let record = try await night.conclude(closes: closes)
        try await night.store.reportWasPublished(ofRun: night.run.runID)
        return try record.findings().map { found in
            let id = found.finding.key?.originalTransactionID ?? ""
            return "\(found.finding.kind.rawValue) \(id) \(found.state.rawValue)"
        }.sorted()
    }

    /// A run that has read the history, written one of two corrections, and is killed.
    private func killed(_ store: SQLiteStore, mode: RunMode = .apply) async throws {
        try store.load(["1", "2", "3"].map { subscription($0) })
        let night = try await begin(store, "recover-1", after: 0, job: "recover", mode: mode)
        let notification = RecordedNotification(
            evidence: payload("n"), notificationUUID: "u-1", notificationType: "REFUND",
            subtype: nil, signedDate: Timestamp(unixMilliseconds: 5),
            originalTransactionID: "3", sendAttempts: [])
        var finding = Finding(kind: .notificationMissed, severity: .high, row: subscription("3"))
        finding.field = "u-1"
        finding.action = mode == .apply ? .recovered : .planned
        try await store.record(
            RecordedPage(
                fresh: [notification], findings: [finding], intoInbox: mode == .apply), of: app,
            in: night.pass, run: night.run)
        try await night.stage(drift("1"), drift("2"))
        guard mode == .apply else { return }
        _ = try await store.applyPlanned(
            limit: 1, in: night.pass, run: night.run, at: night.run.started)
    }

    private static let told = ["access_unpaid 1 corrected", "notification_missed 3 corrected"]

    @Test(arguments: [1, 30])
    func `is told by the next run of another job, with its corrections, once`(
        hours: Int64
    ) async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try await killed(store)
        let next = try await begin(store, "run-1", after: hours)
        #expect(try await publish(next) == Self.told)
        let record = try store.runRecord(ofRun: "run-1")
        #expect(try record.entries().map(\.runID) == ["recover-1"])
        var audited: [String] = []
        try record.forEachNotification { audited.append($0.verdict) }
        #expect(audited == ["missed"])
        #expect(try await publish(begin(store, "run-2", after: hours + 1)) == [])
        // Where its job runs after all, it says nothing of them again.
        let late = try await begin(store, "recover-2", after: hours + 6, job: "recover")
        #expect(late.pass.resumedFrom == nil)
        #expect(try await publish(late) == [])
    }

    @Test func `goes on, and does not tell the notification again`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try await killed(store)
        #expect(try await publish(begin(store, "run-1", after: 1)) == Self.told)
        let again = try await begin(store, "recover-2", after: 2, job: "recover")
        #expect(again.pass.resumedFrom == "recover-1")
        #expect(try await again.apply() == 1)
        let told = try await publish(again)
        #expect(!told.contains { $0.hasPrefix("notification_missed") })
        #expect(told.contains("access_unpaid 2 corrected"))
    }

    @Test func `is told by the run after the next, where that is killed, too`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try await killed(store)
        _ = try await begin(store, "run-1", after: 1)
        _ = try await begin(store, "look-1", after: 2, job: "look", mode: .check)
        #expect(try await publish(begin(store, "audit-1", after: 3, job: "audit")) == Self.told)
        #expect(try await publish(begin(store, "run-2", after: 30)) == [])
    }

    @Test func `is told by another job where its pass had already been gone on with`() async throws
    {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try await killed(store)
        // Ended, but killed before its report stood; and killed once more.
        let second = try await begin(store, "recover-2", after: 1, job: "recover")
        try await second.conclude(closes: false)
        _ = try await begin(store, "recover-3", after: 2, job: "recover")
        #expect(
            try await publish(begin(store, "run-1", after: 3)).filter { $0.hasSuffix("corrected") }
                == Self.told)
    }

    @Test func `waits for a run that judges rows`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try await killed(store)
        var header = Night.header("plan", at: Night.start + 30 * Self.hour, job: "apply 1")
        header.judgesRows = false
        try await store.reportIsAwaited(ofRun: "plan")
        #expect(try await publish(Night.begin(store, header)) == [])
        #expect(try await publish(begin(store, "run-1", after: 31)) == Self.told)
    }

    @Test func `is nothing to others where it only checked`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try await killed(store, mode: .check)
        #expect(try await publish(begin(store, "run-1", after: 1)) == [])
    }

    @Test func `leaves nothing behind after a day`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try await killed(store)
        _ = try await publish(begin(store, "run-1", after: 1))
        #expect(try database.value("SELECT count(*) FROM trueup_pass_rows") != "0")
        _ = try await publish(begin(store, "run-2", after: 25))
        #expect(try database.value("SELECT count(*) FROM trueup_pass_rows") == "0")
        #expect(
            try database.value("SELECT count(*) FROM trueup_passes WHERE state = 'open'") == "0")
    }
}
