import SubscriptionStore
import Subscriptions
import Testing

/// Invariant: reports tell of a notification that did not reach the company once, whoever found it.
@Suite struct `Notifications told once` {
    private let hour: Int64 = 3_600_000

    private func begin(
        _ store: SQLiteStore, _ id: String, after hours: Int64, job: String = "nightly"
    ) async throws -> Night {
        try await store.reportIsAwaited(ofRun: id)
        var header = Night.header(
            id, mode: job == "audit" ? .check : .apply, at: Night.start + hours * hour, job: job)
        header.coversEveryRow = job == "audit"
        return try await Night.begin(store, header)
    }

    /// Reads the history, which shows two notifications that nobody received.
    private func read(_ night: Night) async throws {
        let recovers = night.run.mode == .apply
        let findings = ["u-1", "u-2"].map { uuid in
            var finding = Finding(
                kind: .notificationMissed, severity: .high, row: subscription("1"))
            finding.field = uuid
            finding.action = recovers ? .recovered : .none
            return finding
        }
        let notifications = ["u-1", "u-2"].map { uuid in
            RecordedNotification(
                evidence: payload(uuid), notificationUUID: uuid, notificationType: "DID_RENEW",
                subtype: nil, signedDate: Timestamp(unixMilliseconds: 5),
                originalTransactionID: "1", sendAttempts: [])
        }
        try await night.store.record(
            RecordedPage(fresh: notifications, findings: findings, intoInbox: recovers), of: app,
            in: night.pass, run: night.run)
    }

    private func end(_ night: Night) async throws -> [FindingState] {
        try await night.store.carryOpenFindings(in: night.pass, run: night.run)
        return try await night.conclude().findings().map(\.state)
    }

    private func publish(_ store: SQLiteStore, _ id: String) async throws {
        try await store.reportWasPublished(ofRun: id)
    }

    /// A check that read the history and was killed, and a night after it that recovers the same.
    private func killedCheck(_ store: SQLiteStore) async throws {
        try store.load([subscription("1")])
        try await read(try await begin(store, "audit-1", after: 0, job: "audit"))
        let night = try await begin(store, "night-1", after: 1)
        try await read(night)
        #expect(try await end(night) == [.corrected, .corrected])
    }

    @Test(arguments: [2, 50])
    func `a killed check does not repeat what a night has recovered since`(
        hours: Int64
    ) async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try await killedCheck(store)
        try await publish(store, "night-1")
        let audit = try await begin(store, "audit-2", after: hours, job: "audit")
        // Within a day it goes on with the killed one.
        #expect((audit.pass.resumedFrom != nil) == (hours < 24))
        #expect(try await end(audit) == [])
        #expect(try store.overview(runs: 5).openFindings.isEmpty)
    }

    @Test func `where that night's report was not written, the next one tells it as recovered`()
        async throws
    {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try await killedCheck(store)
        let audit = try await begin(store, "audit-2", after: 50, job: "audit")
        #expect(try await end(audit) == [.corrected, .corrected])
    }

    @Test func `what another check's report listed since is not repeated`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        try await read(try await begin(store, "audit-1", after: 0, job: "audit"))
        let other = try await Night.begin(
            store, Night.header("look", mode: .check, at: Night.start + hour, job: "look"))
        try await read(other)
        #expect(try await end(other) == [.new, .new])
        let audit = try await begin(store, "audit-2", after: 50, job: "audit")
        #expect(try await end(audit) == [])
    }

    @Test func `what nobody else has found is told by the next check`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        try await read(try await begin(store, "audit-1", after: 0, job: "audit"))
        let audit = try await begin(store, "audit-2", after: 50, job: "audit")
        #expect(try await end(audit) == [.new, .new])
    }
}
