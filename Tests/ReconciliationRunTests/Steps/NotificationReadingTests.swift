import ReconciliationRun
import StoreSupport
import Subscriptions
import Testing

private let day: Int64 = 24 * World.hour

/// A long window of the notification history is read in parts, side by side, and nothing in it is
/// missed or told twice.
@Suite struct `Reading the notification history` {
    private func window(_ milliseconds: Int64) -> NotificationWindow {
        NotificationWindow(
            start: World.start, end: World.start.adding(milliseconds: milliseconds))
    }

    @Test(arguments: [
        (1, 1), (day, 1), (day + 1, 2), (8 * day, 8), (180 * day, 64),
    ])
    func `parts cover the whole window, of a day each and not too many`(
        milliseconds: Int64, count: Int
    ) {
        let parts = window(milliseconds).slices
        #expect(parts.count == count)
        #expect(parts.first?.start == World.start)
        #expect(parts.last?.end == window(milliseconds).end)
        for (part, next) in zip(parts, parts.dropFirst()) {
            #expect(part.start < part.end)
            // Whether Apple counts the first and the last millisecond or not, none is left out.
            #expect(part.end > next.start)
        }
    }

    /// Told one an hour, of a customer each; none of them arrived.
    private func told(_ hours: Int) -> [RecordedNotification] {
        (0..<hours).map { hour in
            let signed = World.start.adding(milliseconds: Int64(-hour - 1) * World.hour)
            return RecordedNotification(
                evidence: World.payload("notification \(hour)"),
                notificationUUID: "uuid-\(hour)", notificationType: "EXPIRED", subtype: nil,
                signedDate: signed, originalTransactionID: World.id(hour),
                sendAttempts: [SendAttempt(attemptDate: signed, result: "TIMED_OUT")])
        }
    }

    @Test func `a long history in parts tells all that it holds, each once`() async throws {
        let world = World(rows: 150)
        world.apple.change { $0.history = told(150) }
        try await world.night("run-1") { job in
            job.steps = [.recover]
            job.recover.lookbackMilliseconds = 7 * day
        }
        let report = try #require(world.store.report(ofRun: "run-1"))
        #expect(report.kinds.count { $0 == .notificationMissed } == 150)
        #expect(Set(world.apple.asked) == Set((0..<150).map(World.id)))
        // The page that told that there are more, and two for each of seven days but the last,
        // which is not full.
        #expect(world.apple.calls("notification_history") <= 1 + 7 * 2)
        #expect(try await world.watermark() != nil)
        try await world.night("run-2", after: 24) { $0.steps = [.recover] }
        let second = try #require(world.store.report(ofRun: "run-2"))
        #expect(!second.kinds.contains(.notificationMissed))
    }

    @Test func `a history of one page takes one call`() async throws {
        let world = World(rows: 20)
        world.apple.change { $0.history = told(20) }
        try await world.night("run-1") { job in
            job.steps = [.recover]
            job.recover.lookbackMilliseconds = 30 * day
        }
        #expect(world.apple.calls("notification_history") == 1)
        let report = try #require(world.store.report(ofRun: "run-1"))
        #expect(report.kinds.count { $0 == .notificationMissed } == 20)
    }

    @Test func `a part that cannot be read keeps the watermark, and the others are kept`()
        async throws
    {
        let world = World(rows: 150)
        let failing = World.start.adding(milliseconds: -3 * day)
        world.apple.change { script in
            script.history = told(150)
            script.unreadable = failing
        }
        let conclusion = try await world.night("run-1") { job in
            job.steps = [.recover]
            job.recover.lookbackMilliseconds = 7 * day
        }
        #expect(conclusion.statuses.contains(.incomplete))
        #expect(try await world.watermark() == nil)
        world.apple.change { $0.unreadable = nil }
        try await world.night("run-2", after: 1) { job in
            job.steps = [.recover]
            job.recover.lookbackMilliseconds = 7 * day
        }
        let reports = ["run-1", "run-2"].compactMap { world.store.report(ofRun: $0) }
        #expect(reports.flatMap(\.kinds).count { $0 == .notificationMissed } == 150)
        #expect(try await world.watermark() != nil)
    }
}
