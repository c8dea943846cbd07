import Reconciliation
import ReconciliationRun
import StoreSupport
import Subscriptions
import Testing

/// What stands between a plan and the rows.
@Suite struct `Applying a plan` {
    private func world(expired: Int = 3, rows: Int = 10) -> World {
        let world = World(rows: rows)
        for number in 0..<expired { world.expire(World.id(number)) }
        return world
    }

    @Test func `is not done by a check`() async throws {
        let world = world()
        let conclusion = try await world.night("run-1") { $0.mode = .check }
        #expect(world.store.ledger.isEmpty)
        #expect(world.store.rows.values.allSatisfy { $0.status == 1 })
        #expect(conclusion.exitStatus == .findings)
    }

    @Test func `is refused as a whole where a guard objects`() async throws {
        let world = world()
        let conclusion = try await world.night("run-1") {
            $0.guards.minChanges = 0
            $0.guards.maxChanges = 2
        }
        #expect(conclusion.exitStatus == .guarded)
        #expect(conclusion.limits.contains("guard max_changes"))
        #expect(world.store.ledger.isEmpty)
        #expect(conclusion.closesPass)
    }

    @Test func `continues where the guards that object are lifted, by reason`() async throws {
        let world = world()
        let conclusion = try await world.night("run-1") {
            $0.guards.minChanges = 0
            $0.guards.maxChanges = 2
            for name in GuardName.allCases { $0.liftedGuards[name] = "known" }
        }
        #expect(!conclusion.statuses.contains(.guarded))
        #expect(world.store.ledger.count == 3)
    }

    @Test func `leaves a row alone that a service wrote to meanwhile`() async throws {
        let world = world(rows: 3)
        let moved = World.row(of: World.stated(World.id(0))) {
            $0.status = 5
            $0.signedDate = World.start.adding(milliseconds: -World.hour / 2)
        }
        // Later pages are asked after the first is judged; here it is the look before the write.
        try await world.night("run-1") { $0.mode = .check }
        let plan = try #require(world.store.plan(ofRun: "run-1"))
        world.store.hold(moved)
        let conclusion = try await world.night("apply-1", after: 1) {
            $0.name = "apply"
            $0.planSource = .plan(plan)
        }
        #expect(world.status(of: World.id(0)) == 5)
        #expect(world.store.ledger.count == 2)
        #expect(conclusion.exitStatus == .stale)
        let report = try #require(world.store.report(ofRun: "apply-1"))
        #expect(report.undecided == [World.key(World.id(0)): .changedDuringRun])
    }

    @Test func `can be reverted, and the reverting too`() async throws {
        let world = world()
        try await world.night("run-1")
        #expect(world.store.ledger.count == 3)
        for (number, source) in ["run-1", "undo-1", "undo-2"].enumerated() {
            let conclusion = try await world.night(
                "undo-\(number + 1)", after: Int64(number + 1) * 48
            ) {
                $0.name = "undo"
                $0.planSource = .undo(ofRun: source)
            }
            #expect(conclusion.exitStatus == .ok)
            let expected = number % 2 == 0 ? 1 : 2
            #expect((0..<3).allSatisfy { world.status(of: World.id($0)) == expected })
        }
        #expect(world.store.ledger.count == 12)
    }

    @Test func `accepts the table's size only where guards look at it`() async throws {
        let world = world(rows: 10)
        let run = try await world.night("run-1")
        #expect(run.acceptedTableRows != nil)
        let undo = try await world.night("undo-1", after: 48) {
            $0.name = "undo"
            $0.planSource = .undo(ofRun: "run-1")
        }
        #expect(undo.exitStatus == .ok)
        #expect(undo.acceptedTableRows == nil)
    }

    @Test func `writes each correction once, wherever the process is killed`() async throws {
        let undisturbed = try await written(killedAfter: nil)
        for commits in 0..<undisturbed { _ = try await written(killedAfter: commits) }
    }

    /// A night, killed or not, and two after it; how many commits the first made.
    private func written(killedAfter commits: Int?) async throws -> Int {
        let world = world(expired: 4, rows: 4)
        if let commits { world.store.kill(afterCommits: commits) }
        _ = try? await world.night("run-1") { $0.canary = 2 }
        let taken = world.store.commits
        world.store.restart()
        try await world.night("run-2", after: 1) { $0.canary = 2 }
        try await world.night("run-3", after: 2) { $0.canary = 2 }
        let written = world.store.ledger.map(\.subscription.originalTransactionID)
        #expect(written.sorted() == (0..<4).map(World.id))
        let reported = ["run-1", "run-2", "run-3"]
            .compactMap { world.store.report(ofRun: $0)?.entries }.flatMap(\.self)
        #expect(reported.sorted() == [1, 2, 3, 4])
        return taken
    }
}
