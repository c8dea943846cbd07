import SubscriptionStore
import Subscriptions
import Testing

@Suite struct `Keeping causes` {
    private static let day: Int64 = 86_400_000

    private func sent(
        _ uuid: String, _ id: String = "1", at milliseconds: Int64 = 10, reported: Bool = false,
        _ attempts: (Int64, String)...
    ) -> TracedNotification {
        TracedNotification(
            notificationUUID: uuid, notificationType: "DID_RENEW", subtype: "BILLING_RECOVERY",
            signedDate: Timestamp(unixMilliseconds: milliseconds), originalTransactionID: id,
            sendAttempts: attempts.map {
                SendAttempt(attemptDate: Timestamp(unixMilliseconds: $0.0), result: $0.1)
            }, receivedAt: reported ? nil : Timestamp(unixMilliseconds: 12), isReported: reported)
    }

    private func cluster(_ cause: String) -> CauseCluster {
        var cluster = CauseCluster(
            bundleID: app.bundleID, environment: "Production", cause: cause, delivery: .refused,
            result: "UNSUCCESSFUL_HTTP_RESPONSE_CODE")
        cluster.findings = 3
        cluster.rows = 1
        cluster.kinds = ["expiry": 2, "access_missing": 1]
        cluster.notificationTypes = ["DID_RENEW": 1]
        cluster.money = [
            MoneyTotal(currency: "EUR", direction: .customerLoses, amount: 9_990, findings: 1)
        ]
        cluster.bursts = [
            CauseBurst(
                start: Timestamp(unixMilliseconds: 0), end: Timestamp(unixMilliseconds: 60_000),
                notifications: 2)
        ]
        cluster.firstAttempt = Timestamp(unixMilliseconds: 5)
        cluster.lastAttempt = Timestamp(unixMilliseconds: 60_001)
        cluster.productID = "pro \"é\""
        cluster.example = "1"
        return cluster
    }

    private func conclude(
        _ night: Night, _ causes: [CauseCluster], closes: Bool = true
    ) async throws -> SQLiteRunRecord {
        var conclusion = RunConclusion(
            ended: night.run.started.adding(milliseconds: 9), statuses: [.ok], messages: [],
            limits: [], calls: [], closesPass: closes)
        conclusion.causes = causes
        try await night.store.conclude(conclusion, in: night.pass, run: night.run)
        return try night.store.runRecord(ofRun: night.run.runID)
    }

    private func record(_ traced: [TracedNotification], in night: Night) async throws {
        try await night.store.record(
            RecordedPage(fresh: [], traced: traced, intoInbox: false), of: app, in: night.pass,
            run: night.run)
    }

    @Test(arguments: RunMode.allCases)
    func `gives each finding what Apple's history says of its subscription`(
        mode: RunMode
    ) async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1"), subscription("2")])
        let night = try await Night.begin(store, Night.header("run-1", mode: mode))
        let first = sent("a", at: 10, reported: true, (10, "TIMED_OUT"), (20, "SUCCESS"))
        let second = sent("b", at: 30, (30, "SUCCESS"))
        try await record([first, second], in: night)
        // Read again, with one more attempt: the first account stands.
        try await record([sent("a", at: 10, (10, "TIMED_OUT")), sent("c", "9")], in: night)
        var changed = drift("1")
        changed.findings[0].changedAt = Timestamp(unixMilliseconds: 77)
        try await night.stage(changed, drift("2", version: 9))
        if mode == .apply { try await night.apply() }
        let found = try await store.findingsToExplain(after: nil, limit: 10, in: night.pass)
        #expect(found.map { $0.finding.key?.originalTransactionID } == ["1", "2"])
        #expect(found[0].notifications == [second, first])
        #expect(found[0].finding.changedAt == Timestamp(unixMilliseconds: 77))
        #expect(found[1].notifications.isEmpty)
        #expect(found[0].correction != nil)
        // The second row had moved: in a run that writes, its correction was not written.
        #expect((found[1].correction == nil) == (mode == .apply))
        let rest = try await store.findingsToExplain(
            after: found[0].sequence, limit: 1, in: night.pass)
        #expect(rest == [found[1]])
        #expect(
            try await store.findingsToExplain(after: found[1].sequence, limit: 1, in: night.pass)
                .isEmpty)
        #expect(try database.value("SELECT count(*) FROM trueup_notifications") == "0")
    }

    @Test func `the cause of the last report is known while the values are the same`() async throws
    {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1"), subscription("2")])
        func explained(_ night: Night) async throws -> [Int64] {
            try await store.findingsToExplain(after: nil, limit: 9, in: night.pass).map(\.sequence)
        }
        let stopped = try await Night.begin(store, Night.header("run-1"))
        try await stopped.stage(drift("1"), drift("2"))
        let first = try await explained(stopped)
        let cause = "did not reach us (NO_RESPONSE)"
        try await store.explain(
            Dictionary(uniqueKeysWithValues: first.map { ($0, cause) }), in: stopped.pass,
            run: stopped.run)
        #expect(try await store.causesFoundBefore(of: first).isEmpty)
        _ = try await conclude(stopped, [])
        let next = try await Night.begin(store, Night.header("run-2"))
        try await next.stage(drift("1"), drift("2", to: 5))
        let second = try await explained(next)
        try #require(second.count == 2)
        #expect(try await store.causesFoundBefore(of: second) == [second[0]: cause])
    }

    @Test func `a report says its causes again, whatever later runs of the pass find`()
        async throws
    {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1"), subscription("2")])
        let stopped = try await Night.begin(store, Night.header("run-1"))
        try await stopped.stage(drift("1"), drift("2"))
        let found = try await store.findingsToExplain(after: nil, limit: 10, in: stopped.pass)
        try await store.explain(
            [found[0].sequence: "refused by us"], in: stopped.pass, run: stopped.run)
        let record = try await conclude(stopped, [cluster("b"), cluster("a")], closes: false)
        func causes() throws -> [String?] { try record.findings().map(\.finding.cause) }
        #expect(try causes() == ["refused by us", nil])
        let summary = try record.summary()
        #expect(summary.conclusion.causes == [cluster("b"), cluster("a")])

        let next = try await Night.begin(store, Night.header("run-2", at: Night.start + 1000))
        #expect(next.pass.passID == stopped.pass.passID)
        try await store.explain(
            Dictionary(uniqueKeysWithValues: found.map { ($0.sequence, "lost") }), in: next.pass,
            run: next.run)
        #expect(
            try await conclude(next, [cluster("c")]).findings().map(\.finding.cause)
                == ["lost", "lost"])
        #expect(try causes() == ["refused by us", nil])
        #expect(try record.summary() == summary)
        // What only the search needed goes with the pass.
        for table in ["trueup_pass_deliveries", "trueup_pass_history"] {
            #expect(try database.value("SELECT count(*) FROM \(table)") == "0")
        }
    }

    @Test func `a killed run leaves no cause behind`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let killed = try await Night.begin(store, Night.header("run-1"))
        try await killed.stage(drift("1"))
        let found = try await store.findingsToExplain(after: nil, limit: 10, in: killed.pass)
        try await store.explain([found[0].sequence: "x"], in: killed.pass, run: killed.run)
        let next = try await Night.begin(store, Night.header("run-2"))
        #expect(try database.value("SELECT count(*) FROM trueup_run_finding_causes") == "0")
        #expect(try await conclude(next, []).findings().map(\.finding.cause) == [nil])
    }

    @Test func `counts the days of the week before on which a cause was found`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        // Twice on the first day, then on the third, the fourth and the ninth.
        let hours: [Int64] = [0, 1, 48, 72, 192]
        var seen: [Int] = []
        for (number, hour) in hours.enumerated() {
            let night = try await Night.begin(
                store, Night.header("run-\(number)", at: Night.start + hour * Self.day / 24))
            let causes = number == 2 ? [cluster("a"), cluster("new")] : [cluster("a")]
            let summary = try await conclude(night, causes).summary()
            seen.append(summary.conclusion.causes[0].earlierDays)
            #expect(summary.conclusion.causes.dropFirst().allSatisfy { $0.earlierDays == 0 })
        }
        #expect(seen == [0, 0, 1, 2, 2])
    }
}
