import SubscriptionStore
import Subscriptions
import Testing

@Suite struct `Recording notifications` {
    private func notification(
        _ uuid: String, id: String? = "1", results: [String] = ["SUCCESS"]
    ) -> RecordedNotification {
        RecordedNotification(
            evidence: payload("notification" + uuid), notificationUUID: uuid,
            notificationType: "DID_RENEW", subtype: nil,
            signedDate: Timestamp(unixMilliseconds: 10), originalTransactionID: id,
            sendAttempts: results.enumerated().map { number, result in
                SendAttempt(
                    attemptDate: Timestamp(unixMilliseconds: Int64(number)), result: result)
            })
    }

    private func finding(_ kind: FindingKind, _ uuid: String) -> Finding {
        var finding = Finding(
            kind: kind, severity: .high, bundleID: app.bundleID, environment: "Production")
        finding.key = key("1")
        finding.field = uuid
        finding.action = .recovered
        finding.evidence = payload("notification" + uuid).digest
        return finding
    }

    private func audits(_ record: SQLiteRunRecord) throws -> [String: String] {
        var found: [String: String] = [:]
        try record.forEachNotification { found[$0.notificationUUID] = $0.verdict }
        return found
    }

    @Test func `measures how late each came that the run read first`() async throws {
        let database = try TemporaryDatabase()
        defer { withExtendedLifetime(database) {} }
        let store = try database.open()
        func sent(
            _ uuid: String, id: String, _ attempts: [(Int64, String)]
        ) -> RecordedNotification {
            RecordedNotification(
                evidence: payload("notification" + uuid), notificationUUID: uuid,
                notificationType: "DID_RENEW", subtype: nil,
                signedDate: Timestamp(unixMilliseconds: 10_000), originalTransactionID: id,
                sendAttempts: attempts.map {
                    SendAttempt(attemptDate: Timestamp(unixMilliseconds: $0), result: $1)
                })
        }
        let all = [
            sent("came", id: "1", [(70_000, "SUCCESS"), (11_000, "TIMED_OUT")]),
            sent("told", id: "2", [(11_000, "SUCCESS")]),
            sent("missed", id: "3", [(11_000, "TIMED_OUT")]),
            sent("underway", id: "4", [(11_000, "TIMED_OUT")]),
            // One without an original transaction id is in no figure.
            notification("summary", id: nil),
        ]
        let night = try await Night.begin(store, Night.header("run-1", at: 200_010_000))
        try await store.record(
            RecordedPage(
                fresh: all, findings: [finding(.notificationMissed, "missed")],
                traced: all.compactMap {
                    $0.traced(
                        receivedAt: $0.notificationUUID == "told"
                            ? Timestamp(unixMilliseconds: 12_000) : nil,
                        isReported: $0.notificationUUID == "missed")
                }, intoInbox: true), of: app, in: night.pass, run: night.run)
        let measures = try await night.conclude().summary().measures
        #expect(
            measures?.delivery
                == DeliveryDelays(
                    arrived: DelayFigures(
                        notifications: 2, medianSeconds: 2, worstSeconds: 60),
                    recovered: DelayFigures(
                        notifications: 1, medianSeconds: 198_000, worstSeconds: 200_000),
                    underway: 1))
        // A later run read none of them first.
        let later = try await Night.begin(store, Night.header("run-2", at: 200_020_000))
        #expect(try await later.conclude().summary().measures?.delivery == nil)
    }

    @Test func `keeps an inbox and says of each what became of it`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        _ = try store.loadNotifications(of: app) { add in
            _ = try add(ReceivedNotification(notificationUUID: "received", receivedAt: nil))
        }
        let night = try await Night.begin(store, Night.header("run-1"))
        let page = [
            notification("received"), notification("delivered", id: "2"),
            notification("missed", results: ["TIMED_OUT", "OTHER"]), notification("lost"),
            notification("retrying", id: nil, results: ["NO_RESPONSE"]),
        ]
        try await store.record(
            RecordedPage(
                fresh: page,
                findings: [
                    finding(.notificationMissed, "missed"),
                    finding(.notificationLost, "lost"),
                ], intoInbox: true), of: app,
            in: night.pass, run: night.run)
        let known = try await store.inbox(
            of: app, notificationUUIDs: ["received", "missed", "unknown"])
        #expect(known["received"]?.receivedAt != nil)
        #expect(known["missed"]?.receivedAt == nil)
        #expect(known["missed"]?.recoveredAt == night.run.started)
        #expect(known["unknown"] == nil)
        let explained = try store.explanations(
            of: "1", apps: [app], nights: 1, at: Timestamp(unixMilliseconds: Night.start))
        let missed = explained.first?.notifications.first { $0.notificationUUID == "missed" }
        #expect(missed?.attempts.map(\.result) == ["TIMED_OUT", "OTHER"])
        #expect(missed?.attempts.map(\.attemptDate.unixMilliseconds) == [0, 1])
        #expect(try await store.unresolvedFindings(of: night.pass).isEmpty)
        let record = try await night.conclude()
        #expect(
            try audits(record) == [
                "received": "received", "delivered": "delivered", "missed": "missed",
                "lost": "lost", "retrying": "retrying",
            ])
        #expect(try record.findings().map(\.state) == [.corrected, .corrected])
        #expect(try record.evidence().count == 2)
    }

    @Test func `a check keeps no inbox, but its report is whole`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let night = try await Night.begin(store, Night.header("run-1", mode: .check))
        try await store.record(
            RecordedPage(
                fresh: [notification("a"), notification("b", results: [])],
                findings: [finding(.notificationMissed, "b")], intoInbox: false), of: app,
            in: night.pass, run: night.run)
        #expect(try await store.inbox(of: app, notificationUUIDs: ["a", "b"]).isEmpty)
        let record = try await night.conclude()
        #expect(try audits(record) == ["a": "delivered", "b": "missed"])
        #expect(try record.evidence() == [payload("notificationb")])
    }

    @Test func `read again on another night it stays what it was found to be`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        for number in 1...2 {
            let night = try await Night.begin(store, Night.header("run-\(number)"))
            let findings = number == 1 ? [finding(.notificationMissed, "a")] : []
            try await store.record(
                RecordedPage(
                    fresh: [notification("a", results: ["TIMED_OUT"])], findings: findings,
                    intoInbox: true), of: app,
                in: night.pass, run: night.run)
            #expect(try audits(await night.conclude()) == ["a": "missed"])
        }
        #expect(
            try await store.inbox(of: app, notificationUUIDs: ["a"])["a"]?.recoveredAt
                == Timestamp(unixMilliseconds: Night.start))
    }

    @Test func `a finding that no report showed survives its dropped pass`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let night = try await Night.begin(store, Night.header("run-1"))
        try await store.record(
            RecordedPage(
                fresh: [notification("a", results: [])],
                findings: [finding(.notificationMissed, "a")], intoInbox: true), of: app,
            in: night.pass, run: night.run)
        let late = try await Night.begin(
            store, Night.header("run-2", at: Night.start + 90_000_000))
        #expect(late.pass.resumedFrom == nil)
        #expect(try await late.conclude().findings().map(\.finding.kind) == [.notificationMissed])
    }
}
