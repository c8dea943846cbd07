import StoreSupport
import SubscriptionStore
import Subscriptions
import Testing

/// The promises of the store about notifications, and the causes that they tell.
@Suite struct `The contract of recovered notifications` {
    private let window = NotificationWindow(
        start: Timestamp(unixMilliseconds: 5), end: Timestamp(unixMilliseconds: 50))

    private func night(
        _ store: BooksPlace, mode: RunMode = .apply
    ) async throws -> (SQLitePlace, Night) {
        let place = try store.place()
        for id in ["1", "2"] { try place.hold(subscription(id)) }
        return (place, try await Night(place, Night.header("run-1", mode: mode)))
    }

    @Test(arguments: BooksPlace.allCases)
    func `the watermark never stands before what is recorded`(
        store: BooksPlace
    ) async throws {
        let (place, night) = try await night(store)
        let book = place.store
        try await night.record(RecordedPage(owing: [notification("u", of: "1")], intoInbox: true))
        #expect(try await book.watermark(of: app) == nil)
        // Killed here, the page is read again: it is known, and so is what it owes.
        let next = try await Night(place, "run-2", after: 1)
        #expect(next.pass.recoveredApps.isEmpty)
        try await book.finishRecovery(
            of: app, read: window, watermark: window.end, in: next.pass)
        #expect(try await book.watermark(of: app) == window.end)
        let third = try await Night(place, "run-3", after: 2)
        #expect(third.pass.recoveredApps == [app])
        #expect(try await third.pending() == ["1"])
    }

    @Test(arguments: BooksPlace.allCases)
    func `a check reads the history and moves no watermark`(
        store: BooksPlace
    ) async throws {
        let (place, night) = try await night(store, mode: .check)
        try await night.record(RecordedPage(owing: [notification("u", of: "1")], intoInbox: false))
        try await place.store.finishRecovery(
            of: app, read: window, watermark: nil, in: night.pass)
        #expect(try await place.store.watermark(of: app) == nil)
        #expect(
            try await place.store.inbox(of: app, notificationUUIDs: ["u"]).isEmpty)
        #expect(try await night.pending() == ["1"])
        #expect(try await place.store.historyRead(in: night.pass) == [app: window])
    }

    @Test(arguments: BooksPlace.allCases)
    func `the inbox knows when a notification was first recovered`(
        store: BooksPlace
    ) async throws {
        let (place, night) = try await night(store)
        try await night.record(RecordedPage(owing: [notification("u", of: "1")], intoInbox: true))
        let later = try await Night(place, "run-2", after: 48)
        try await later.record(RecordedPage(owing: [notification("u", of: "1")], intoInbox: true))
        let known = try await place.store.inbox(of: app, notificationUUIDs: ["u", "v"])
        #expect(
            known == ["u": InboxRecord(receivedAt: nil, recoveredAt: night.run.started)])
    }

    @Test(arguments: BooksPlace.allCases)
    func `what notifications owe stands on the agenda until it is settled`(
        store: BooksPlace
    ) async throws {
        let (_, night) = try await night(store)
        try await night.record(
            RecordedPage(
                owing: [
                    notification("a", of: "2"), notification("b", of: "1"),
                    notification("c", of: "2"), notification("d", of: nil),
                    notification("e", of: "7"),
                ], intoInbox: true))
        #expect(try await night.pending() == ["1", "2", "7"])
        try await night.stage(outcome("2", .match))
        #expect(try await night.pending() == ["1", "7"])
    }

    @Test(arguments: BooksPlace.allCases)
    func `findings come in the order of staging, with how they might have been prevented`(
        store: BooksPlace
    ) async throws {
        let (_, night) = try await night(store)
        let first = notification("a", of: "1", at: 10)
        let second = notification("b", of: "1", at: 30)
        let traced = [first, second].compactMap { $0.traced(receivedAt: nil, isReported: false) }
        try await night.record(RecordedPage(fresh: [], traced: traced, intoInbox: true))
        // Read again, with an attempt more: the first account stands.
        var again = first
        again.sendAttempts = []
        try await night.record(
            RecordedPage(
                fresh: [],
                traced: [again].compactMap { $0.traced(receivedAt: nil, isReported: false) },
                intoInbox: true))
        try await night.stage(drift("2", version: 1))
        try await night.stage(drift("1", version: 1))
        let book = night.store
        let page = try await book.findingsToExplain(after: nil, limit: 9, in: night.pass)
        #expect(page.map { $0.finding.key?.originalTransactionID } == ["2", "1"])
        #expect(page.last?.notifications == traced.reversed())
        #expect(page.first?.notifications == [])
        #expect(page.allSatisfy { $0.correction != nil })
        let rest = try await book.findingsToExplain(
            after: page.first?.sequence, limit: 9, in: night.pass)
        #expect(rest == Array(page.dropFirst()))
    }

    @Test(arguments: BooksPlace.allCases)
    func `causes count with the conclusion of the run that found them`(
        store: BooksPlace
    ) async throws {
        let (place, killed) = try await night(store)
        try await killed.stage(drift("1", version: 1))
        let found = try await killed.store.findingsToExplain(
            after: nil, limit: 9, in: killed.pass)
        let sequence = try #require(found.first?.sequence)
        try await killed.store.explain(
            [sequence: "of the killed run"], in: killed.pass, run: killed.run)
        let next = try await Night(place, "run-2", after: 1)
        try await next.store.explain(
            [sequence: "of the second"], in: next.pass, run: next.run)
        try await next.conclude()
        #expect(try place.report(ofRun: "run-2")?.causes == ["of the second"])
    }
}

extension RecordedPage {
    /// A page whose notifications all leave something to ask.
    init(owing fresh: [RecordedNotification], intoInbox: Bool) {
        self.init(fresh: fresh, intoInbox: intoInbox)
        pending = fresh.compactMap { notification in
            notification.originalTransactionID.map {
                NewQuestion(key: key($0), restsOn: notification.signedDate, isEntitling: true)
            }
        }
    }
}

extension Night {
    fileprivate func record(_ page: RecordedPage) async throws {
        try await store.record(page, of: app, in: pass, run: run)
    }

    /// What stands on the agenda and is not settled, by id.
    func pending() async throws -> [String] {
        let keys = try await store.lines(of: .pending, after: nil, limit: 9, in: pass)
            .map(\.key)
        let settled = try await store.settled(among: keys, in: pass)
        return keys.filter { !settled.contains($0) }.map(\.originalTransactionID).sorted()
    }
}

func notification(
    _ uuid: String, of id: String?, at signed: Int64 = 10
) -> RecordedNotification {
    RecordedNotification(
        evidence: payload("notification " + uuid), notificationUUID: uuid,
        notificationType: "DID_RENEW", subtype: nil,
        signedDate: Timestamp(unixMilliseconds: signed), originalTransactionID: id,
        sendAttempts: [
            SendAttempt(attemptDate: Timestamp(unixMilliseconds: signed), result: "SUCCESS")
        ])
}
