import Reconciliation
import ReconciliationRun
import StoreSupport
import Subscriptions
import Testing

/// Guards judge a night that asks few rows as they would judge one that asks all.
@Suite struct `Guarded delta nights` {
    @Test func `a lost day of notifications does not stop the run`() async throws {
        let world = World(rows: 200)
        try await world.night("run-1", `Delta nights`.delta())
        // The company's endpoint was down: 10 of 200 rows changed, and all that is asked differs.
        var told: [RecordedNotification] = []
        for number in 0..<10 {
            let ended = World.stated(World.id(number), .expired) {
                $0.transaction.signedDate = World.start.adding(milliseconds: 12 * World.hour)
                $0.renewal.signedDate = $0.transaction.signedDate
            }
            world.say([ended])
            told.append(World.notification("ended-\(number)", ended))
        }
        world.tell(told)
        let conclusion = try await world.night("run-2", after: 24) { job in
            `Delta nights`.delta()(&job)
            job.guards = GuardLimits()
        }
        #expect(world.apple.asked.count == 10)
        #expect(conclusion.exitStatus != .guarded, "\(conclusion.messages)")
        #expect(world.status(of: World.id(9)) == 2)
    }

    @Test(arguments: [10, 11])
    func `a job that only reads notifications is judged by the whole table too`(
        ended: Int
    ) async throws {
        let world = World(rows: 200)
        try await world.night("run-1", `Delta nights`.delta())
        for number in 0..<ended {
            let ended = World.stated(World.id(number), .expired) {
                $0.transaction.signedDate = World.start.adding(milliseconds: 12 * World.hour)
                $0.renewal.signedDate = $0.transaction.signedDate
            }
            world.say([ended])
            world.tell([World.notification("ended-\(number)", ended)])
        }
        let conclusion = try await world.night("run-2", after: 24) { job in
            `Delta nights`.delta()(&job)
            job.name = "recover"
            job.steps = [.recover]
            job.guards = GuardLimits()
        }
        // All of the rows in scope, and up to a twentieth of the table, which the guards allow.
        #expect(world.apple.asked.count == ended)
        #expect((conclusion.exitStatus == .guarded) == (ended > 10), "\(conclusion.messages)")
        #expect(world.store.ledger.count == (ended > 10 ? 0 : ended))
        if ended > 10 {
            #expect(conclusion.messages.contains { $0.contains("11 of 200 rows covered") })
        }
    }

    @Test func `an App Store that calls everyone expired is stopped by those drawn at random`()
        async throws
    {
        let world = World(rows: 400)
        try await world.night("run-1", `Delta nights`.delta())
        for number in 0..<400 { world.expire(World.id(number)) }
        // 10 of 400 rows are fewer than a twentieth of the table.
        let conclusion = try await world.night("run-2", after: 24) { job in
            `Delta nights`.delta(sample: 10)(&job)
            job.guards = GuardLimits()
        }
        #expect(conclusion.exitStatus == .guarded, "\(conclusion.messages)")
        #expect((0..<400).allSatisfy { world.status(of: World.id($0)) == 1 })
        #expect(conclusion.messages.contains { $0.contains("10 of 10 rows") })
    }
    @Test func `the causes that a stopped run found are those of the run with the guard lifted`()
        async throws
    {
        let world = World(rows: 3)
        try await world.night("run-1")
        // Without a notification, in the time that only the second run reads.
        let ended = World.stated(World.id(1), .expired) {
            $0.transaction.expiresDate = World.start.adding(milliseconds: 30 * World.hour)
            $0.renewal.renewalDate = $0.transaction.expiresDate
            $0.transaction.signedDate = World.start.adding(milliseconds: 40 * World.hour)
            $0.renewal.signedDate = $0.transaction.signedDate
        }
        world.say([ended])
        let guarded: (inout ReconciliationJob) -> Void = { job in
            job.guards = GuardLimits()
            job.guards.minChanges = 1
            job.guards.maxChanges = 0
        }
        let stopped = try await world.night("run-2", after: 48, guarded)
        #expect(stopped.exitStatus == .guarded)
        #expect(stopped.causes.contains { $0.cause.hasPrefix("never sent") })
        let lifted = try await world.night("run-3", after: 49) { job in
            guarded(&job)
            job.liftedGuards = Dictionary(
                uniqueKeysWithValues: GuardName.allCases.map { ($0, "looked at") })
        }
        #expect(world.status(of: World.id(1)) == 2)
        #expect(Set(lifted.causes.map(\.cause)) == Set(stopped.causes.map(\.cause)))
    }
}
