import ReconciliationRun
import StoreSupport
import Subscriptions
import Synchronization
import Testing

/// What a walk over the rows promises, whatever Apple answers.
@Suite struct `A walk` {
    @Test func `asks about every row once, page after page`() async throws {
        let rows = 2 * RunLimits.rowsPerPage + 60
        let world = World(rows: rows)
        let conclusion = try await world.night("run-1")
        #expect(conclusion.exitStatus == .ok)
        #expect(Set(world.apple.asked) == Set((0..<rows).map(World.id)))
        #expect(world.apple.asked.count == rows)
        #expect(world.store.report(ofRun: "run-1")?.totals.matched == rows)
    }

    @Test func `tells how many rows are answered, not how many were read`() async throws {
        let rows = RunLimits.rowsPerPage + 60
        let world = World(rows: rows)
        // Left out, so that nobody waits for it.
        world.store.hold(
            World.row(of: World.stated(World.id(rows))) { $0.signedDate = World.start })
        let told = Mutex<[(done: Int, asked: Int)]>([])
        let note: @Sendable (RunProgress) -> Void = { progress in
            guard progress.stage == .walk else { return }
            told.withLock { $0.append((progress.done, world.apple.asked.count)) }
        }
        try await world.night("run-1", progress: note)
        let all = told.withLock(\.self)
        #expect(all.allSatisfy { $0.done <= $0.asked })
        #expect(all.count == rows)
        #expect(all.last?.done == rows)
    }

    @Test func `settles a customer's rows by one answer`() async throws {
        let world = World()
        let stated = [World.stated(World.id(0)), World.stated(World.id(1), .expired)]
        for item in stated {
            world.store.hold(World.row(of: item) { $0.customerID = "one customer" })
        }
        world.say(stated)
        try await world.night("run-1")
        #expect(world.apple.asked == [World.id(0)])
        #expect(world.store.report(ofRun: "run-1")?.totals.matched == 2)
    }

    @Test func `asks once about an Apple Account that it knows, with several customers too`()
        async throws
    {
        let world = World()
        let stated = (0..<3).map { number in
            World.stated(World.id(number), number == 1 ? .expired : .active) {
                $0.transaction.appTransactionID = number < 2 ? "one account" : "another account"
            }
        }
        for (number, item) in stated.enumerated() {
            world.store.hold(
                World.row(of: item) { $0.customerID = number == 1 ? "its customer" : nil })
        }
        world.say(Array(stated[..<2]))
        world.say([stated[2]])
        try await world.night("run-1")
        let conclusion = try await world.night("run-2", after: 25)
        #expect(world.apple.asked.count == 2)
        #expect(world.store.report(ofRun: "run-2")?.totals.matched == 3)
        #expect(conclusion.exitStatus == .ok)
    }

    @Test func `corrects what Apple says otherwise, with an entry for each`() async throws {
        let world = World(rows: 5)
        world.expire(World.id(1))
        world.expire(World.id(3))
        try await world.night("run-1")
        #expect((0..<5).map { world.status(of: World.id($0)) } == [1, 2, 1, 2, 1])
        let corrected = world.store.ledger.map(\.subscription.originalTransactionID)
        #expect(corrected == [World.id(1), World.id(3)])
        #expect(world.store.report(ofRun: "run-1")?.entries == [1, 2])
    }

    @Test(arguments: [1, 4])
    func `takes no outage for a cancelled subscription`(first: Int) async throws {
        let world = World(rows: 40)
        for number in 0..<40 { world.expire(World.id(number)) }
        world.apple.change { $0.outageFrom = first }
        let conclusion = try await world.night("run-1") { $0.steps = [.walk] }
        let report = try #require(world.store.report(ofRun: "run-1"))
        #expect(report.totals.undecidedCount == 40 - (first - 1))
        #expect(report.totals.discrepant == first - 1)
        #expect(world.store.ledger.count == first - 1)
        #expect(world.store.rows.values.count { $0.status == 1 } == 40 - (first - 1))
        #expect(conclusion.statuses.contains(first == 1 ? .unavailable : .incomplete))
        #expect(!conclusion.closesPass)
    }

    @Test func `leaves the rows undecided that a deadline cut off`() async throws {
        let world = World(rows: 60)
        world.apple.change { $0.stop = (question: 6, reason: .deadlineReached) }
        let conclusion = try await world.night("run-1")
        let report = try #require(world.store.report(ofRun: "run-1"))
        #expect(report.totals.matched == 5)
        #expect(report.undecidedCounts == [.deadline: 55])
        #expect(report.totals.inScope == 60)
        #expect(conclusion.exitStatus == .incomplete)
        #expect(conclusion.limits == ["max_duration"])
    }

    @Test func `asks again at the end what Apple had a fault with`() async throws {
        let world = World(rows: 6)
        world.expire(World.id(5))
        world.apple.change { $0.faults = [1: .internalFault, 3: .unavailable("502")] }
        let conclusion = try await world.night("run-1")
        #expect(world.apple.asked.count == 8)
        #expect(Set(world.apple.asked.suffix(2)).count == 2)
        let report = try #require(world.store.report(ofRun: "run-1"))
        #expect(report.totals.undecidedCount == 0)
        #expect(world.status(of: World.id(5)) == 2)
        #expect(!conclusion.statuses.contains(.incomplete))
    }

    @Test func `puts last what failed in the run before`() async throws {
        let world = World(rows: 6)
        let failing = World.id(0)
        world.apple.change { $0.statuses[failing] = .unavailable("500") }
        let first = try await world.night("run-1")
        #expect(first.exitStatus == .incomplete)
        try await world.night("run-2", after: 24)
        #expect(world.apple.asked.last == failing)
        #expect(world.apple.asked.count == 6)
    }

    @Test func `leaves out what is in flight or of no configured app, and says so`() async throws {
        let world = World(rows: 30)
        let fresh = World.stated(World.id(50))
        world.store.hold(World.row(of: fresh) { $0.signedDate = World.start })
        // So many rows of another bundle are another app, not mistakes in a row.
        for number in 100..<130 {
            var stray = World.row(of: World.stated(World.id(number)))
            stray.key = SubscriptionKey(
                bundleID: "com.example.other", environment: "Production",
                originalTransactionID: World.id(number))
            world.store.hold(stray)
        }
        try await world.night("run-1")
        #expect(Set(world.apple.asked) == Set((0..<30).map(World.id)))
        let report = try #require(world.store.report(ofRun: "run-1"))
        #expect(report.totals.excluded == [.inFlight: 1, .appNotConfigured: 30])
    }

    @Test func `leaves seat members out, and closes what was found about them before`() async throws
    {
        let world = World(rows: 3)
        let member = World.row(of: World.stated(World.id(50)))
        world.store.hold(member)
        // Apple knows no subscription of a member's.
        try await world.night("run-1")
        #expect(world.apple.asked.contains(World.id(50)))
        var report = try #require(world.store.report(ofRun: "run-1"))
        #expect(report.kinds == [.notFound])
        var marked = member
        marked.inAppOwnershipType = "SEAT_MEMBER"
        marked.rowVersion += 1
        world.store.hold(marked)
        for number in 2...4 {
            try await world.night("run-\(number)", after: Int64(number) * 24) {
                if number == 4 {
                    $0.coverage = .delta(
                        DeltaSettings(
                            sweepMilliseconds: 30 * 24 * World.hour,
                            sweepEndedMilliseconds: 180 * 24 * World.hour, sample: .rows(10)))
                }
            }
            #expect(!world.apple.asked.contains(World.id(50)))
            report = try #require(world.store.report(ofRun: "run-\(number)"))
            #expect(report.totals.excluded == [.seatMember: 1], "run \(number)")
            #expect(report.kinds == [.seatMember], "run \(number)")
            #expect(report.totals.undecidedCount == 0)
        }
        #expect(world.status(of: World.id(50)) == 1)
    }

    @Test func `narrowed to a number of rows, asks about no more`() async throws {
        let world = World(rows: 20)
        try await world.night("run-1") { $0.filters = RunFilters(limit: 3) }
        // Customers are asked side by side.
        #expect(world.apple.asked.sorted() == (0..<3).map(World.id))
        #expect(world.store.report(ofRun: "run-1")?.totals.inScope == 3)
    }

    @Test func `divided into parts, asks about every row in one of them`() async throws {
        let world = World(rows: 50)
        var asked: [String] = []
        for number in 1...4 {
            try await world.night("run-\(number)", after: Int64(number) * 48) {
                $0.filters = RunFilters(shard: RunFilters.Shard(number: number, count: 4))
            }
            asked += world.apple.asked
        }
        #expect(asked.sorted() == (0..<50).map(World.id))
    }

    @Test func `asks again about a page that could not be stored`() async throws {
        let world = World(rows: 5)
        // Killed with the last question: the page is judged and not stored.
        world.apple.change { script in
            let store = world.store
            script.beforeAnswer = { if $0 == 5 { store.kill(afterCommits: 0) } }
        }
        await #expect(throws: StoreError.self) { try await world.night("run-1") }
        let before = world.apple.asked
        world.store.restart()
        world.apple.change { $0.beforeAnswer = { _ in } }
        try await world.night("run-2", after: 1)
        let report = try #require(world.store.report(ofRun: "run-2"))
        #expect(report.totals.matched == 5)
        #expect(Set(before).isSubset(of: Set(world.apple.asked)))
    }
}
