import Reconciliation
import ReconciliationRun
import StoreSupport
import Subscriptions
import Testing

/// What reading Apple's notification history promises.
@Suite struct `Recovering notifications` {
    /// Signed two days before the first night; Apple never got through.
    private func missed(_ uuid: String, of id: String) -> RecordedNotification {
        let signed = World.start.adding(milliseconds: -48 * World.hour)
        return RecordedNotification(
            evidence: World.payload("notification " + uuid), notificationUUID: uuid,
            notificationType: "EXPIRED", subtype: nil, signedDate: signed,
            originalTransactionID: id,
            sendAttempts: [SendAttempt(attemptDate: signed, result: "TIMED_OUT")])
    }

    private func page(
        _ notifications: [RecordedNotification], next: Int? = nil
    ) -> Lookup<NotificationPage> {
        .answered(
            NotificationPage(
                notifications: notifications, hasMore: next != nil,
                paginationToken: next.map(String.init)))
    }

    @Test func `finds what never arrived, once, and settles what it touched`() async throws {
        let world = World(rows: 3)
        world.expire(World.id(1))
        world.apple.change { script in
            script.notifications = [
                page([missed("a", of: World.id(0))], next: 1),
                page([missed("b", of: World.id(1))]),
            ]
        }
        try await world.night("run-1") { $0.steps = [.recover] }
        #expect(Set(world.apple.asked) == [World.id(0), World.id(1)])
        let report = try #require(world.store.report(ofRun: "run-1"))
        #expect(report.kinds.count { $0 == .notificationMissed } == 2)
        #expect(world.status(of: World.id(1)) == 2)
        #expect(try await world.watermark() != nil)
        let again = try await world.night("run-2", after: 24) { $0.steps = [.recover] }
        // A run that judged no row is never 0, and nothing is wrong with it.
        #expect(again.exitStatus == .empty)
        let second = try #require(world.store.report(ofRun: "run-2"))
        #expect(second.totals.inScope == 0)
        #expect(!second.kinds.contains(.notificationMissed))
    }

    @Test func `keeps the watermark where a page could not be read`() async throws {
        let world = World(rows: 3)
        world.apple.change { script in
            script.notifications = [
                page([missed("a", of: World.id(0))], next: 1), .unavailable("503"),
            ]
        }
        let conclusion = try await world.night("run-1")
        #expect(conclusion.statuses.contains(.incomplete))
        #expect(try await world.watermark() == nil)
        // What was read is kept; the rows are judged all the same.
        #expect(world.store.report(ofRun: "run-1")?.totals.matched == 3)
        #expect(world.store.report(ofRun: "run-1")?.kinds == [.notificationMissed])
    }

    @Test func `finds, once it verifies again, what did not verify for longer than the overlap`()
        async throws
    {
        let world = World(rows: 2)
        let day: Int64 = 24
        world.apple.change { $0.notifications = [page([])] }
        try await world.night("run-1")
        let before = try #require(try await world.watermark())
        let damaged = RejectedStatement(
            originalTransactionID: nil,
            failure: VerificationFailure(reason: .signature, detail: "no"),
            payload: World.payload("damaged"))
        let broken = NotificationPage(
            notifications: [], rejected: [damaged], hasMore: false, paginationToken: nil)
        for night in Int64(1)...3 {
            world.apple.change { $0.notifications = [.answered(broken)] }
            let conclusion = try await world.night("run-\(night + 1)", after: night * day) {
                $0.guards.maxVerificationFailures = 100
            }
            #expect(conclusion.messages.contains { $0.contains("1 entry of the notification") })
            #expect(!conclusion.messages.contains { $0.contains("is empty") })
        }
        #expect(try await world.watermark() == before)
        var late = missed("a", of: World.id(0))
        late.signedDate = World.start.adding(milliseconds: 12 * World.hour)
        world.apple.change { script in
            script.notifications = []
            script.history = [late]
        }
        try await world.night("run-9", after: 4 * day)
        #expect(world.store.report(ofRun: "run-9")?.kinds.contains(.notificationMissed) == true)
        #expect(try await world.watermark() ?? before > before)
    }

    @Test func `moves no watermark in a check`() async throws {
        let world = World(rows: 2)
        world.apple.change { $0.notifications = [page([missed("a", of: World.id(0))])] }
        try await world.night("run-1") { $0.mode = .check }
        #expect(try await world.watermark() == nil)
        #expect(world.store.report(ofRun: "run-1")?.kinds == [.notificationMissed])
    }

    @Test func `inserts a subscription that no row holds`() async throws {
        let world = World(rows: 2)
        // One account: that its customer is known is what lets the other row be inserted.
        world.say([World.stated(World.id(1)), World.stated(World.id(9))])
        world.apple.change { $0.notifications = [page([missed("a", of: World.id(9))])] }
        try await world.night("run-1") { $0.steps = [.recover] }
        #expect(world.apple.asked == [World.id(9)])
        #expect(world.status(of: World.id(9)) == 1)
        let report = try #require(world.store.report(ofRun: "run-1"))
        #expect(report.kinds.contains(.missingLocally))
        // It was no row when the night began; what the answer showed beside it was.
        #expect(report.totals.inScope == 1)
    }

    @Test func `forgets nothing of it, wherever the process is killed`() async throws {
        let undisturbed = try await recovered(killedAfter: nil)
        for commits in 0..<undisturbed { _ = try await recovered(killedAfter: commits) }
    }

    /// A night, killed or not, and one after it; how many commits the first made.
    private func recovered(killedAfter commits: Int?) async throws -> Int {
        let world = World(rows: 2)
        world.expire(World.id(0))
        // One account: that its customer is known is what lets the other row be inserted.
        world.say([World.stated(World.id(1)), World.stated(World.id(9))])
        world.apple.change { script in
            script.notifications = [
                page([missed("a", of: World.id(0))], next: 1), page([missed("b", of: World.id(9))]),
            ]
        }
        if let commits { world.store.kill(afterCommits: commits) }
        _ = try? await world.night("run-1") { $0.steps = [.recover] }
        let taken = world.store.commits
        world.store.restart()
        try await world.night("run-2", after: 1) { $0.steps = [.recover] }
        #expect(world.status(of: World.id(0)) == 2)
        #expect(world.status(of: World.id(9)) == 1)
        #expect(world.store.ledger.count == 2)
        #expect(try await world.watermark() != nil)
        let reports = ["run-1", "run-2"].compactMap { world.store.report(ofRun: $0) }
        #expect(reports.flatMap(\.kinds).count { $0 == .notificationMissed } == 2)
        return taken
    }
}

extension World {
    func watermark() async throws -> Timestamp? {
        try await store.watermark(of: Self.app)
    }
}
