import Reconciliation
import ReconciliationRun
import StoreSupport
import Subscriptions
import Testing

/// Nights that ask only where there is a reason: nothing that is owed is forgotten, whatever comes
/// in between.
@Suite struct `Delta nights` {
    private static let day: Int64 = 24

    static func delta(
        sample: Int = 0, sweepDays: Int64 = 30
    ) -> (inout ReconciliationJob) -> Void {
        { job in
            job.coverage = .delta(
                DeltaSettings(
                    sweepMilliseconds: sweepDays * day * World.hour,
                    sweepEndedMilliseconds: 180 * day * World.hour, sample: .rows(sample)))
        }
    }

    @Test func `ask about every row once, and then only where there is a reason`() async throws {
        let world = World(rows: 20)
        try await world.night("run-1", Self.delta())
        #expect(world.apple.asked.count == 20)
        // Their periods last for 20 days, so no row needs the sweep of 30.
        try await world.night("run-2", after: Self.day, Self.delta())
        #expect(world.apple.asked.isEmpty)
        try await world.night("run-3", after: 2 * Self.day, Self.delta(sample: 3))
        #expect(world.apple.asked.count == 3)
        #expect(world.store.report(ofRun: "run-3")?.totals.matched == 3)
    }

    @Test func `find the same night what another program wrote to the table`() async throws {
        let world = World(rows: 20)
        try await world.night("run-1", Self.delta())
        var row = try #require(world.store.rows[World.key(World.id(7))])
        row.status = 2
        world.store.hold(row)
        try await world.night("run-2", after: Self.day, Self.delta())
        #expect(world.apple.asked == [World.id(7)])
        #expect(world.status(of: World.id(7)) == 1)
        try await world.night("run-3", after: 2 * Self.day, Self.delta())
        #expect(world.apple.asked.isEmpty)
    }

    @Test func `ask when a period has ended`() async throws {
        let world = World(rows: 3)
        try await world.night("run-1", Self.delta())
        for number in 0..<3 { world.expire(World.id(number)) }
        try await world.night("run-2", after: 19 * Self.day, Self.delta())
        #expect(world.apple.asked.isEmpty)
        try await world.night("run-3", after: 21 * Self.day, Self.delta())
        #expect(world.apple.asked.count == 3)
        #expect(world.status(of: World.id(0)) == 2)
    }

    @Test func `say so when changes come without any notification`() async throws {
        let world = World(rows: 3)
        let quiet = try await world.night("run-1", Self.delta())
        #expect(!quiet.messages.contains { $0.contains("server URL") })
        world.expire(World.id(1))
        let conclusion = try await world.night("run-2", after: 21 * Self.day, Self.delta())
        #expect(world.status(of: World.id(1)) == 2)
        #expect(conclusion.messages.contains { $0.contains("no server URL is set") })
    }

    @Test func `sweep evenly, and every row in time`() async throws {
        let world = World()
        for number in 0..<40 { world.store.hold(World.row(of: Self.yearly(number, night: 0))) }
        for number in 0..<40 { world.say([Self.yearly(number, night: 0)]) }
        try await world.night("run-0", Self.delta(sweepDays: 10))
        var nights: [Int] = []
        var swept: Set<String> = []
        for night in 1...10 {
            for number in 0..<40 { world.say([Self.yearly(number, night: Int64(night))]) }
            try await world.night(
                "run-\(night)", after: Int64(night) * 24, Self.delta(sweepDays: 10))
            nights.append(world.apple.asked.count)
            swept.formUnion(world.apple.asked)
        }
        #expect(swept.count == 40)
        #expect((nights.max() ?? 0) <= 6)
    }

    /// A year's period, so that no clock asks before the sweep; Apple signs each answer anew.
    private static func yearly(_ number: Int, night: Int64) -> StatedSubscription {
        World.stated(World.id(number)) {
            $0.transaction.expiresDate = World.start.adding(
                milliseconds: 300 * day * World.hour)
            $0.renewal.renewalDate = $0.transaction.expiresDate
            let signed = World.start.adding(milliseconds: night * day * World.hour)
            $0.transaction.signedDate = signed
            $0.renewal.signedDate = signed
        }
    }

    @Test func `a notification that agrees settles its row without a call`() async throws {
        let world = World(rows: 5)
        try await world.night("run-1", Self.delta())
        // The company's service has taken a renewal up, as Apple told.
        let signed = World.start.adding(milliseconds: 12 * World.hour)
        let renewed = World.stated(World.id(2)) {
            $0.transaction.signedDate = signed
            $0.renewal.signedDate = signed
            $0.transaction.expiresDate = World.start.adding(milliseconds: 50 * 24 * World.hour)
            $0.renewal.renewalDate = $0.transaction.expiresDate
        }
        world.store.hold(World.row(of: renewed) { $0.signedDate = signed })
        world.say([renewed])
        world.tell([World.notification("renewed", renewed)])
        let conclusion = try await world.night("run-2", after: Self.day, Self.delta())
        #expect(world.apple.asked.isEmpty)
        #expect(conclusion.coverage?.settledByNotification == 1)
        #expect(world.store.report(ofRun: "run-2")?.totals.matched == 1)
        let later = try await world.night("run-3", after: 2 * Self.day, Self.delta())
        // At most its turn in the sweep has come.
        #expect(later.coverage?.asked[.changed] == nil)
        #expect(later.coverage?.asked[.notification] == nil)
    }

    @Test func `what the table lacks is found by the first, not by the sample of the second`()
        async throws
    {
        let world = World(rows: 5)
        // One customer's; a notification agrees with the row that is held.
        world.say([World.stated(World.id(2)), World.stated(World.id(9))])
        world.tell([World.notification("agrees", World.stated(World.id(2)))])
        try await world.night("run-1", Self.delta())
        #expect(world.apple.asked.contains(World.id(2)))
        #expect(world.status(of: World.id(9)) == 1)
        let second = try await world.night("run-2", after: 1, Self.delta(sample: 100))
        #expect(second.coverage?.asked[.sample] == 6)
        #expect(world.store.ledger.count == 1)
    }

    @Test func `a notification that disagrees has Apple asked, and its word counts`() async throws {
        let world = World(rows: 5)
        try await world.night("run-1", Self.delta())
        let signed = World.start.adding(milliseconds: 12 * World.hour)
        let ended = World.stated(World.id(3), .expired) {
            $0.transaction.signedDate = signed
            $0.renewal.signedDate = signed
        }
        world.tell([World.notification("ended", ended)])
        // Apple has gone on since: the row is right after all.
        try await world.night("run-2", after: Self.day, Self.delta())
        #expect(world.apple.asked == [World.id(3)])
        #expect(world.status(of: World.id(3)) == 1)
        #expect(world.store.ledger.isEmpty)
    }

    @Test(arguments: [false, true])
    func `each stopped after some questions, a day and more apart, ask about every row in time`(
        full: Bool
    ) async throws {
        let rows = 60
        let questions = 16
        let world = World(rows: rows)
        let change: (inout ReconciliationJob) -> Void = full ? { _ in } : Self.delta()
        var night: Int64 = 0
        var isOver = false
        // What is in flight when a night is stopped is asked again.
        while !isOver, night < 8 {
            let stop = StopRequest()
            world.apple.change { script in
                script.beforeAnswer = { if $0 == questions + 1 { stop.request(signal: 15) } }
            }
            let conclusion = try await world.night(
                "run-\(night)", after: night * 25, stop: stop, change)
            isOver = conclusion.closesPass
            #expect(isOver || conclusion.exitStatus == .terminated)
            world.apple.change { $0.beforeAnswer = { _ in } }
            // In between somebody looks, and somebody tries a few.
            try await world.night("check-\(night)", after: night * 25 + 1) { job in
                change(&job)
                job.mode = .check
                job.filters.limit = 2
            }
            try await world.night("few-\(night)", after: night * 25 + 2) { job in
                change(&job)
                job.filters.limit = 1
            }
            night += 1
        }
        #expect(isOver)
        #expect(night <= 6)
    }

    @Test func `what a guard stopped is planned again, and written once the guard is lifted`()
        async throws
    {
        let world = World(rows: 10)
        try await world.night("run-1", Self.delta())
        let recover: (inout ReconciliationJob) -> Void = { job in
            Self.delta()(&job)
            job.steps = [.recover]
            job.guards = GuardLimits()
            job.guards.minChanges = 1
            job.guards.maxChanges = 0
        }
        let signed = World.start.adding(milliseconds: 12 * World.hour)
        for number in 0..<6 {
            let ended = World.stated(World.id(number), .expired) {
                $0.transaction.signedDate = signed
                $0.renewal.signedDate = signed
            }
            world.say([ended])
            world.tell([World.notification("ended \(number)", ended)])
            let stopped = try await world.night("run-2-\(number)", after: 23, recover)
            #expect(stopped.exitStatus == .guarded)
        }
        #expect(world.store.ledger.isEmpty)
        try await world.night("run-3", after: 26) { job in
            recover(&job)
            job.liftedGuards = Dictionary(
                uniqueKeysWithValues: GuardName.allCases.map { ($0, "looked at") })
        }
        #expect(world.store.ledger.count == 6)
        try await world.night("run-4", after: 27, recover)
        #expect(world.apple.asked.isEmpty)
    }

    @Test func `an answer that did not come is asked for the next night`() async throws {
        let world = World(rows: 6)
        try await world.night("run-1", Self.delta())
        let signed = World.start.adding(milliseconds: 12 * World.hour)
        let ended = World.stated(World.id(4), .expired) {
            $0.transaction.signedDate = signed
            $0.renewal.signedDate = signed
        }
        world.say([ended])
        world.tell([World.notification("ended", ended)])
        world.apple.change { $0.faults = [1: .unavailable("503"), 2: .unavailable("503")] }
        let vain = try await world.night("run-2", after: 24, Self.delta())
        #expect(vain.exitStatus == .incomplete)
        #expect(world.status(of: World.id(4)) == 1)
        world.apple.change { script in
            script.faults = [:]
            script.notifications = []
        }
        try await world.night("run-3", after: 49, Self.delta())
        #expect(world.status(of: World.id(4)) == 2)
    }

    @Test func `killed before any commit, then continued, end as one that was not`() async throws {
        func world() async throws -> World {
            let world = World(rows: 6)
            try await world.night("run-0", Self.delta())
            let signed = World.start.adding(milliseconds: 12 * World.hour)
            for number in [1, 4] {
                let ended = World.stated(World.id(number), .expired) {
                    $0.transaction.signedDate = signed
                    $0.renewal.signedDate = signed
                }
                world.say([ended])
                world.tell([World.notification("ended \(number)", ended)])
            }
            var row = try #require(world.store.rows[World.key(World.id(2))])
            row.status = 3
            world.store.hold(row)
            return world
        }
        let undisturbed = try await world()
        let before = undisturbed.store.commits
        try await undisturbed.night("run-1", after: 24, Self.delta())
        for commits in 0..<(undisturbed.store.commits - before) {
            // The next night comes within the day, or after it.
            for hours in [Int64(25), 50] {
                let world = try await world()
                world.store.kill(afterCommits: commits)
                _ = try? await world.night("run-1", after: 24, Self.delta())
                world.store.restart()
                try await world.night("run-2", after: hours, Self.delta())
                #expect(world.store.rows == undisturbed.store.rows, "after \(commits) commits")
                #expect(world.store.ledger.count == 3, "after \(commits) commits")
            }
        }
    }

    @Test func `what no run can fix stays in every report until it is fixed`() async throws {
        let world = World(rows: 4)
        // Somebody buys whom the company does not know.
        let stranger = World.stated(World.id(50))
        world.say([stranger])
        world.tell([World.notification("bought", stranger)])
        for night in 0..<3 {
            let conclusion = try await world.night(
                "run-\(night)", after: Int64(night) * 24, Self.delta(sample: 1))
            #expect(conclusion.exitStatus == .findings)
            #expect(
                world.store.report(ofRun: "run-\(night)")?.kinds.contains(.missingLocally) == true)
        }
        world.agree(World.id(50))
        let conclusion = try await world.night("run-3", after: 72, Self.delta(sample: 1))
        #expect(conclusion.exitStatus == .ok)
    }
}
