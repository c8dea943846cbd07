import SubscriptionStore
import Subscriptions
import Testing

/// What notifications say to the business is counted once, by the run that first took them in.
@Suite struct `Counting events` {
    private static let today = Timestamp(unixMilliseconds: Night.start).dayNumber

    /// Signed at noon, so many days before the run.
    private func notification(
        _ uuid: String, age: Int64 = 1, _ kind: BusinessEventKind? = .renewal,
        of product: String = "pro"
    ) -> RecordedNotification {
        var notification = RecordedNotification(
            evidence: payload("event" + uuid), notificationUUID: uuid,
            notificationType: "DID_RENEW", subtype: nil,
            signedDate: Timestamp(
                unixMilliseconds: (Self.today - age) * Milliseconds.perDay
                    + 12 * Milliseconds.perHour), originalTransactionID: "1", sendAttempts: [])
        notification.event = kind.map { BusinessEvent(kind: $0, productID: product) }
        return notification
    }

    private func record(
        _ notifications: [RecordedNotification], intoInbox: Bool = true, in night: Night
    ) async throws {
        try await night.store.record(
            RecordedPage(fresh: notifications, intoInbox: intoInbox), of: app, in: night.pass,
            run: night.run)
    }

    private func finish(
        _ night: Night, from start: Int64, through end: Int64, moves: Bool = true
    ) async throws {
        let window = NotificationWindow(
            start: Timestamp(unixMilliseconds: start), end: Timestamp(unixMilliseconds: end))
        try await night.store.finishRecovery(
            of: app, read: window, watermark: moves ? window.end : nil, in: night.pass)
    }

    private func count(
        _ events: Int, age: Int64 = 1, _ kind: BusinessEventKind = .renewal,
        of product: String = "pro"
    ) -> EventCount {
        EventCount(
            app: app, day: Self.today - age, productID: product, kind: kind, events: events)
    }

    @Test func `by day, product and kind`() async throws {
        let database = try TemporaryDatabase()
        let night = try await Night.begin(try database.open(), Night.header("run-1"))
        try await record(
            [
                notification("a"), notification("b"), notification("c", of: "basic"),
                notification("d", age: 2), notification("e", .refund), notification("f", nil),
                notification("g", age: -1), notification("h", age: 900),
            ], in: night)
        let business = try await night.conclude().summary().business
        #expect(
            business.counts == [
                count(1, age: 2), count(1, of: "basic"), count(1, .refund), count(2),
            ])
        #expect(business.reads == [])
    }

    @Test func `once, however often a notification is read`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        _ = try store.loadNotifications(of: app) { add in
            _ = try add(ReceivedNotification(notificationUUID: "a", receivedAt: nil))
        }
        let night = try await Night.begin(store, Night.header("run-1"))
        try await record([notification("a")], in: night)
        try await record([notification("a"), notification("b")], in: night)
        #expect(try await night.conclude().summary().business.counts == [count(2)])
    }

    @Test func `a report shows what was known to its run, whatever is counted later`() async throws
    {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let first = try await Night.begin(store, Night.header("run-1"))
        try await record([notification("a"), notification("b")], in: first)
        try await finish(first, from: Night.start - 900_000_000, through: Night.start - 900_000)
        let before = try await first.conclude().summary()
        let second = try await Night.begin(
            store, Night.header("run-2", at: Night.start + 3_600_000))
        try await record([notification("c"), notification("a")], in: second)
        try await finish(second, from: Night.start - 900_000_000, through: Night.start)
        let later = try await second.conclude().summary()
        #expect(before.business.counts == [count(2)])
        #expect(later.business.counts == [count(3)])
        #expect(try store.runRecord(ofRun: "run-1").summary() == before)
        // The second run has read again what the first one did; only behind it it counted all.
        #expect(
            later.business.reads.map(\.from.unixMilliseconds) == [
                Night.start - 900_000_000, Night.start - 900_000,
            ])
        #expect(later.business.reads.last?.through.unixMilliseconds == Night.start)
    }

    @Test func `a check counts nothing and has read nothing`() async throws {
        let database = try TemporaryDatabase()
        let night = try await Night.begin(
            try database.open(), Night.header("run-1", mode: .check))
        try await record([notification("a")], intoInbox: false, in: night)
        try await finish(night, from: 0, through: Night.start, moves: false)
        #expect(try await night.conclude().summary().business == BusinessRecord())
    }

    @Test func `behind the mark of a version that did not count nothing is known`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try database.execute(
            """
            INSERT INTO trueup_watermarks
                VALUES ('\(app.bundleID)', 'Production', \(Night.start - 90_000_000))
            """)
        let night = try await Night.begin(store, Night.header("run-1"))
        try await finish(night, from: Night.start - 900_000_000, through: Night.start)
        let reads = try await night.conclude().summary().business.reads
        #expect(reads.map(\.from.unixMilliseconds) == [Night.start - 90_000_000])
    }

    @Test func `a kind that a later version counted is left out`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let night = try await Night.begin(store, Night.header("run-1"))
        try await record([notification("a")], in: night)
        try database.execute("UPDATE trueup_event_counts SET event = 'win_back'")
        #expect(try await night.conclude().summary().business.counts == [])
    }
}
