import Reconciliation
import ReconciliationRun
import StoreSupport
import Subscriptions
import Testing

/// What a retry goes on with after a stopped night, and what the next night looks at anew.
@Suite struct `Stopped nights` {
    @Test(arguments: [
        StoreError.busy("Somebody else kept the table locked."),
        .unavailable("The server is away."), .schema("The column is gone."),
    ])
    func `a table that cannot be read as a run begins is how that run ends`(
        obstacle: StoreError
    ) async throws {
        let world = World(rows: 3)
        world.expire(World.id(1))
        let stopped = try await world.night("run-1") { $0.obstacle = .store(obstacle) }
        #expect(stopped.exitStatus == obstacle.exitStatus)
        #expect(stopped.messages.first == obstacle.description)
        #expect(!stopped.closesPass)
        #expect(world.apple.asked.isEmpty)
        #expect(world.status(of: World.id(1)) == 1)
        #expect(world.store.report(ofRun: "run-1")?.totals.judged == 0)
        let next = try await world.night("run-2", after: 1)
        #expect(next.closesPass)
        #expect(world.status(of: World.id(1)) == 2)
    }

    @Test(arguments: [1, 24])
    func `notifications that are lost for good are reported by the run after a killed one`(
        hoursLater: Int64
    ) async throws {
        func tellsOfLoss(_ conclusion: RunConclusion) -> Bool {
            conclusion.messages.contains { $0.contains(IncompleteReading.tooLate) }
        }
        let world = World(rows: 2)
        try await world.night("run-1")
        let months: Int64 = 210 * 24
        // The history is read before the first question.
        let store = world.store
        world.apple.change { $0.beforeAnswer = { _ in store.kill(afterCommits: 0) } }
        _ = try? await world.night("run-2", after: months)
        #expect(store.report(ofRun: "run-2") == nil)
        store.restart()
        world.apple.change { $0.beforeAnswer = { _ in } }
        let resumed = try await world.night("run-3", after: months + hoursLater)
        #expect(tellsOfLoss(resumed))
        #expect(resumed.statuses.contains(.incomplete))
        let next = try await world.night("run-4", after: months + 48)
        #expect(!tellsOfLoss(next))
    }

    @Test func `a run that continues a killed one says which histories are still to be read`()
        async throws
    {
        let world = World(rows: 3)
        world.apple.change { $0.histories = [:] }
        let store = world.store
        // The answers of the first page are stored before the last step.
        _ = try? await world.night("run-1") {
            $0.policy.history = .always
        } progress: {
            if $0.stage == .conclude { store.kill(afterCommits: 0) }
        }
        #expect(store.report(ofRun: "run-1") == nil)
        store.restart()
        let resumed = try await world.night("run-2", after: 1) { $0.policy.history = .always }
        #expect(
            resumed.messages.contains {
                $0.hasPrefix("Transaction histories were not read to their end for 3 rows.")
            })
        #expect(resumed.statuses.contains(.incomplete))
    }

    @Test func `a stopped walk over every row does not keep the next night from looking`()
        async throws
    {
        let world = World(rows: 6)
        let stop = StopRequest()
        world.apple.change { $0.beforeAnswer = { if $0 == 5 { stop.request(signal: 15) } } }
        let stopped = try await world.night("run-1", stop: stop)
        #expect(stopped.exitStatus == .terminated)
        world.apple.change { $0.beforeAnswer = { _ in } }
        let ended = World.stated(World.id(3), .expired) {
            $0.transaction.signedDate = World.start.adding(milliseconds: 10 * World.hour)
            $0.renewal.signedDate = $0.transaction.signedDate
        }
        world.say([ended])
        world.tell([World.notification("ended", ended)])
        let next = try await world.night("run-2", after: 23)
        #expect(next.closesPass)
        #expect(world.status(of: World.id(3)) == 2)
    }

    @Test func `a walk that had judged every row is over, whatever stopped the run after that`()
        async throws
    {
        let world = World(rows: 6)
        world.expire(World.id(1))
        try await Self.stopAfterEveryRow("run-1", in: world)
        #expect(world.status(of: World.id(1)) == 1)
        var row = try #require(world.store.rows[World.key(World.id(2))])
        row.status = 3
        world.store.hold(row)
        let next = try await world.night("run-2", after: 23)
        #expect(next.closesPass)
        #expect(world.apple.asked.count == 6)
        #expect(world.store.report(ofRun: "run-2")?.totals.inScope == 6)
        #expect(world.status(of: World.id(1)) == 2)
        #expect(world.status(of: World.id(2)) == 1)
    }

    @Test func `a retry writes what the stopped walk planned, and asks for the known answer alone`()
        async throws
    {
        let world = World(rows: 6)
        world.expire(World.id(1))
        try await Self.stopAfterEveryRow("run-1", in: world)
        let retry = try await world.night("run-2", after: 1)
        #expect(retry.closesPass)
        #expect(world.apple.asked.count <= 1, "\(world.apple.asked)")
        #expect(world.status(of: World.id(1)) == 2)
        try await world.night("run-3", after: 24)
        #expect(world.apple.asked.count == 6)
    }

    /// Stops a walk over every row when nothing is left to be asked, and nothing is written yet.
    private static func stopAfterEveryRow(_ runID: String, in world: World) async throws {
        let stop = StopRequest()
        let rows = world.store.rows.count
        let stopped = try await world.night(
            runID, stop: stop,
            progress: { if $0.stage == .walk, $0.done == rows { stop.request(signal: 15) } })
        #expect(stopped.exitStatus == .terminated)
        #expect(!stopped.closesPass)
    }

    @Test
    func `the shares of a run that continues a walk are of all rows that the walk has checked`()
        async throws
    {
        func guarded(_ job: inout ReconciliationJob) { job.guards.minChanges = 1 }
        let world = World(rows: 100)
        world.apple.change { $0.stop = (question: 91, reason: .deadlineReached) }
        let first = try await world.night("run-1", guarded)
        #expect(first.coverage?.roundBefore == nil)
        world.apple.change { $0.stop = nil }
        let left = try #require(world.store.report(ofRun: "run-1")).undecided.keys.sorted()
        #expect(left.count == 10)
        for key in left.prefix(2) { world.expire(key.originalTransactionID) }
        let next = try await world.night("run-2", after: 23, guarded)
        #expect(world.apple.asked.count == 10)
        #expect(next.coverage?.roundBefore == 90)
        #expect(next.messages.contains { $0.contains("a stopped run, which had checked 90 rows") })
        #expect(next.exitStatus == .ok, "\(next.messages)")
        #expect(world.store.ledger.count == 2)
    }

    @Test func `a night that ends before it knows what is due counts that as not judged`()
        async throws
    {
        let world = World(rows: 20)
        let ended = World.stated(World.id(3), .expired) {
            $0.transaction.signedDate = World.start.adding(milliseconds: 10 * World.hour)
            $0.renewal.signedDate = $0.transaction.signedDate
        }
        world.say([ended])
        world.tell([World.notification("ended", ended)])
        world.apple.change { $0.stop = (question: 1, reason: .deadlineReached) }
        let stopped = try await world.night("run-1", after: 23, `Delta nights`.delta())
        #expect(!stopped.closesPass)
        #expect(stopped.coverage?.rows == 20)
        let report = try #require(world.store.report(ofRun: "run-1"))
        #expect(report.totals.inScope == 20)
        #expect(report.undecidedCounts == [.deadline: 20])
        world.apple.change { $0.stop = nil }
        try await world.night("run-2", after: 24, `Delta nights`.delta())
        #expect(world.apple.asked.sorted() == (0..<20).map(World.id))
        #expect(world.status(of: World.id(3)) == 2)
        #expect(world.store.report(ofRun: "run-2")?.totals.undecidedCount == 0)
    }

    @Test func `a deadline that passes when nothing is left to be asked stops nothing`()
        async throws
    {
        func walking(_ job: inout ReconciliationJob) {
            `Delta nights`.delta()(&job)
            job.steps = [.walk]
        }
        let world = World(rows: 6)
        try await world.night("run-1", walking)
        let late = try await world.night("run-2", after: 1, deadline: .now, walking)
        #expect(late.limits.isEmpty)
        #expect(late.closesPass)
        let full = World(rows: 6)
        let later = try await full.night("run-1", deadline: .now) { $0.steps = [.walk] }
        #expect(later.limits == ["max_duration"])
    }

    @Test(arguments: [Int64(5), 6, 23])
    func `a night after a stopped one checks everything again, a retry does not`(
        hours: Int64
    ) async throws {
        let world = World(rows: 6)
        try await world.night("run-0", `Delta nights`.delta())
        let first = World.start.adding(milliseconds: 12 * World.hour)
        func end(_ number: Int, at signed: Timestamp) {
            let ended = World.stated(World.id(number), .expired) {
                $0.transaction.signedDate = signed
                $0.renewal.signedDate = signed
            }
            world.say([ended])
            world.tell([World.notification("ended \(number)", ended)])
        }
        for number in [1, 4] { end(number, at: first) }
        let stop = StopRequest()
        world.apple.change { $0.beforeAnswer = { if $0 == 1 { stop.request(signal: 15) } } }
        let stopped = try await world.night("run-1", after: 24, stop: stop, `Delta nights`.delta())
        #expect(stopped.exitStatus == .terminated)
        #expect(!stopped.closesPass)
        world.apple.change { $0.beforeAnswer = { _ in } }
        // Meanwhile one more ends, and somebody writes to a row that nothing spoke for.
        end(3, at: first.adding(milliseconds: 13 * World.hour))
        var row = try #require(world.store.rows[World.key(World.id(2))])
        row.status = 3
        world.store.hold(row)
        let next = try await world.night("run-2", after: 24 + hours, `Delta nights`.delta())
        #expect(next.closesPass)
        #expect([1, 4].allSatisfy { world.status(of: World.id($0)) == 2 })
        let isAnew = hours >= 6
        #expect(world.status(of: World.id(3)) == (isAnew ? 2 : 1))
        // The stopped night looked at every row, to count what it leaves: what was written since is new.
        #expect(world.status(of: World.id(2)) == (isAnew ? 1 : 3))
        #expect(world.store.ledger.count == (isAnew ? 4 : 2))
        // What a retry left is found the night after.
        try await world.night("run-3", after: 48 + hours, `Delta nights`.delta())
        #expect([1, 3, 4].allSatisfy { world.status(of: World.id($0)) == 2 })
        #expect(world.status(of: World.id(2)) == 1)
    }
}
