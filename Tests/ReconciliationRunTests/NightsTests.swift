import ReconciliationRun
import StoreSupport
import Subscriptions
import Testing

/// Nights that are stopped, narrowed, killed and continued, while the world moves on.
@Suite struct `Nights` {
    @Test(arguments: [2, 3, 7, 40])
    func `that are each stopped after some questions ask about every row`(
        questions: Int
    ) async throws {
        let rows = 60
        let world = World(rows: rows)
        for number in stride(from: 0, to: rows, by: 7) { world.expire(World.id(number)) }
        var judged: Set<String> = []
        var nights = 0
        var isOver = false
        while !isOver, nights < 2 * rows {
            nights += 1
            let stop = StopRequest()
            world.apple.change { script in
                script.stop = (question: questions + 1, reason: .cancelled)
                script.beforeAnswer = { if $0 == questions { stop.request(signal: 15) } }
            }
            // Within the day of the first: the pass goes on.
            let conclusion = try await world.night("run-\(nights)", stop: stop)
            judged.formUnion(world.apple.asked)
            isOver = conclusion.closesPass
            if !isOver { #expect(conclusion.exitStatus == .terminated) }
        }
        #expect(isOver)
        #expect(judged == Set((0..<rows).map(World.id)))
        // Each night loses one question to what is known already.
        #expect(nights <= rows / (questions - 1) + 2)
        let report = try #require(world.store.report(ofRun: "run-\(nights)"))
        #expect(report.totals.inScope == rows)
        #expect(report.totals.undecidedCount == 0)
        #expect(world.store.ledger.count == (rows + 6) / 7)
    }

    @Test func `killed before any commit, then continued, end as one that was not`() async throws {
        func world() -> World {
            let world = World(rows: 7)
            for number in [1, 4] { world.expire(World.id(number)) }
            world.say([World.stated(World.id(6)), World.stated(World.id(8))])
            world.apple.change { $0.faults = [2: .internalFault] }
            return world
        }
        let undisturbed = world()
        try await undisturbed.night("run-1")
        var killed = 0
        for commits in 0..<undisturbed.store.commits {
            let world = world()
            world.store.kill(afterCommits: commits)
            // With fewer stagings than the undisturbed night had, it may be over before.
            let isOver = (try? await world.night("run-1")) != nil
            if isOver { continue }
            killed += 1
            world.store.restart()
            try await world.night("run-2", after: 1)
            #expect(world.store.rows == undisturbed.store.rows, "after \(commits) commits")
            #expect(Self.written(world) == Self.written(undisturbed), "after \(commits) commits")
            let report = try #require(world.store.report(ofRun: "run-2"))
            #expect(report.entries == world.store.ledger.map(\.number), "after \(commits) commits")
            #expect(report.totals.undecidedCount == 0, "after \(commits) commits")
        }
        #expect(killed > 8)
    }

    @Test func `killed while the company writes never overwrite what it wrote`() async throws {
        var commits = -1
        var isOver = false
        while !isOver {
            commits += 1
            isOver = try await writtenBetween(killedAfter: commits)
        }
        #expect(commits > 8)
    }

    /// A night that is killed, and one after it; whether the first had come to its end before.
    private func writtenBetween(killedAfter commits: Int) async throws -> Bool {
        let world = World(rows: 6)
        for number in 0..<6 { world.expire(World.id(number)) }
        world.store.kill(afterCommits: commits)
        _ = try? await world.night("run-1")
        world.store.restart()
        let written = Self.written(world)
        // A service renews every second row, on a newer statement of Apple's.
        let signed = World.start.adding(milliseconds: World.hour)
        for number in [0, 2, 4] {
            let renewed = World.stated(World.id(number)) {
                $0.transaction.signedDate = signed
                $0.renewal.signedDate = signed
            }
            world.store.hold(World.row(of: renewed) { $0.signedDate = signed })
            world.say([renewed])
        }
        try await world.night("run-2", after: 2)
        #expect([0, 2, 4].allSatisfy { world.status(of: World.id($0)) == 1 })
        #expect([1, 3, 5].allSatisfy { world.status(of: World.id($0)) == 2 })
        let later = Self.written(world).filter { !written.contains($0) }
        let isOver = world.store.report(ofRun: "run-1") != nil
        // A run that had written them before corrects them once more, by Apple's newer word.
        if !isOver { #expect(Set(later).isDisjoint(with: [0, 2, 4].map(World.id))) }
        #expect(Set(Self.written(world)).count == Self.written(world).count)
        return isOver
    }

    @Test(arguments: [(hours: Int64(23), isContinued: true), (hours: 24, isContinued: false)])
    func `go on with a killed walk over every row within a day and not after`(
        hours: Int64, isContinued: Bool
    ) async throws {
        let rows = 3 * RunLimits.rowsPerPage
        let world = World(rows: rows)
        world.apple.change { script in
            let store = world.store
            // Killed while the last page is asked.
            script.beforeAnswer = { if $0 == rows - 1 { store.kill(afterCommits: 0) } }
        }
        _ = try? await world.night("run-1")
        #expect(world.store.report(ofRun: "run-1") == nil)
        world.store.restart()
        world.apple.change { $0.beforeAnswer = { _ in } }
        try await world.night("run-2", after: hours)
        // A batch and what was in flight is lost; one question more asks what Apple is known to answer.
        let most = RunLimits.rowsPerPage + RunLimits.concurrentInquiries + 1
        #expect(
            isContinued ? world.apple.asked.count <= most : world.apple.asked.count == rows)
        #expect(world.store.report(ofRun: "run-2")?.totals.matched == rows)
    }

    @Test func `in which Apple is out change nothing, and then catch up`() async throws {
        let world = World(rows: 30)
        world.expire(World.id(3))
        world.apple.change { $0.outageFrom = 1 }
        for night in 0..<3 {
            let conclusion = try await world.night("run-\(night)", after: Int64(night)) {
                $0.steps = [.walk]
            }
            #expect(conclusion.exitStatus == .unavailable)
            #expect(world.store.ledger.isEmpty)
        }
        world.apple.change { $0.outageFrom = nil }
        let conclusion = try await world.night("run-3", after: 3) { $0.steps = [.walk] }
        #expect(conclusion.closesPass)
        #expect(world.store.report(ofRun: "run-3")?.totals.inScope == 30)
        #expect(world.status(of: World.id(3)) == 2)
    }

    @Test func `find no more to correct once all is corrected`() async throws {
        let world = World(rows: 20)
        for number in 0..<5 { world.expire(World.id(number)) }
        try await world.night("run-1")
        let rows = world.store.rows
        for night in 1..<4 {
            let conclusion = try await world.night("run-\(night + 1)", after: Int64(night) * 24)
            #expect(conclusion.exitStatus == .ok)
            #expect(world.store.report(ofRun: "run-\(night + 1)")?.totals.matched == 20)
        }
        #expect(world.store.rows == rows)
        #expect(world.store.ledger.count == 5)
    }

    @Test func `refused by Apple end at once and leave the pass to the next`() async throws {
        let world = World(rows: 100)
        world.apple.change { $0.stop = (question: 40, reason: .denied("401")) }
        let conclusion = try await world.night("run-1")
        #expect(conclusion.exitStatus == .denied)
        #expect(!conclusion.closesPass)
        #expect(world.store.ledger.isEmpty)
        world.apple.change { $0.stop = nil }
        let second = try await world.night("run-2", after: 1)
        #expect(second.exitStatus == .ok)
        #expect(world.store.report(ofRun: "run-2")?.totals.matched == 100)
    }

    private static func written(_ world: World) -> [String] {
        world.store.ledger.map(\.subscription.originalTransactionID).sorted()
    }
}
