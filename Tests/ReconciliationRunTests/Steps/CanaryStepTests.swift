import ReconciliationRun
import StoreSupport
import Subscriptions
import Testing

/// What a few corrections ahead of the others promise.
@Suite struct `A canary` {
    private func world() -> World {
        let world = World(rows: 10)
        for number in 0..<6 { world.expire(World.id(number)) }
        return world
    }

    @Test func `that agrees lets the rest be written`() async throws {
        let world = world()
        let conclusion = try await world.night("run-1") { $0.canary = 2 }
        #expect(world.store.ledger.count == 6)
        // Ten rows, and the two once more.
        #expect(world.apple.asked.count == 12)
        #expect(Set(world.apple.asked.suffix(2)) == [World.id(0), World.id(1)])
        #expect(!conclusion.statuses.contains(.guarded))
    }

    @Test func `that differs stops the rest`() async throws {
        let world = world()
        let apple = world.apple
        world.apple.change { script in
            script.beforeAnswer = { number in
                guard number == 11 else { return }
                // Apple's word is another one by the second look.
                let signed = World.start.adding(milliseconds: -World.hour / 2)
                let renewed = World.stated(World.id(0)) {
                    $0.transaction.signedDate = signed
                    $0.renewal.signedDate = signed
                }
                apple.change {
                    $0.statuses[World.id(0)] = .answered(StatusAnswer(subscriptions: [renewed]))
                }
            }
        }
        let conclusion = try await world.night("run-1") { $0.canary = 1 }
        #expect(world.store.ledger.count == 1)
        #expect(conclusion.exitStatus == .guarded)
        #expect(conclusion.limits.contains("guard canary"))
        #expect((1..<6).allSatisfy { world.status(of: World.id($0)) == 1 })
    }

    @Test func `that cannot be judged leaves the rest to the next night`() async throws {
        let world = world()
        world.apple.change { $0.faults = [11: .unavailable("503"), 12: .unavailable("503")] }
        let first = try await world.night("run-1") { $0.canary = 2 }
        #expect(world.store.ledger.count == 2)
        #expect(first.exitStatus == .incomplete)
        #expect(!first.closesPass)
        world.apple.change { $0.faults = [:] }
        let second = try await world.night("run-2", after: 1) { $0.canary = 2 }
        #expect(world.store.ledger.count == 6)
        #expect(second.closesPass)
        let written = world.store.ledger.map(\.subscription.originalTransactionID)
        #expect(Set(written).count == 6)
    }

    @Test func `takes another row in the place of one that moved`() async throws {
        let world = world()
        try await world.night("run-1") { $0.mode = .check }
        let plan = try #require(world.store.plan(ofRun: "run-1"))
        world.store.hold(
            World.row(of: World.stated(World.id(0))) {
                $0.signedDate = World.start.adding(milliseconds: -World.hour / 2)
            })
        try await world.night("apply-1", after: 1) {
            $0.name = "apply"
            $0.planSource = .plan(plan)
            $0.canary = 2
        }
        #expect(Set(world.apple.asked) == [World.id(1), World.id(2)])
        #expect(world.store.ledger.count == 5)
    }
}
