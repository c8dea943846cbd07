import ReconciliationRun
import StoreSupport
import Subscriptions
import Testing

/// A night for one app does all that is to be done for it, and nothing for another.
@Suite struct `Nights for some apps alone` {
    private static let other = AppIdentity(bundleID: "com.example.other", environment: .production)

    private static func delta(_ job: inout ReconciliationJob, _ app: AppIdentity) {
        job.coverage = .delta(
            DeltaSettings(
                sweepMilliseconds: 30 * 24 * World.hour,
                sweepEndedMilliseconds: 180 * 24 * World.hour,
                sample: .rows(0)))
        job.filters = RunFilters(apps: [app])
    }

    /// A world with rows of another app, too.
    private static func world() -> World {
        let world = World(rows: 3)
        for number in 0..<2 {
            let row = World.row(of: World.stated(World.id(number)))
            var foreign = LocalSubscription(
                key: SubscriptionKey(app: other, originalTransactionID: "9\(number)"))
            foreign.customerID = "other \(number)"
            foreign.status = row.status
            world.store.hold(foreign)
        }
        return world
    }

    @Test func `ask about its rows and correct them`() async throws {
        let world = Self.world()
        world.expire(World.id(1))
        let conclusion = try await world.night("1") { Self.delta(&$0, World.app) }
        #expect(world.status(of: World.id(1)) == 2)
        // Shares are of the app's rows, not of the table.
        #expect(conclusion.coverage?.rows == 3)
        #expect(world.store.rows.count == 5)
    }

    @Test func `read its notifications, and move its watermark`() async throws {
        let world = Self.world()
        world.tell([World.notification("one", World.stated(World.id(2), .expired))])
        world.expire(World.id(2))
        try await world.night("1") { Self.delta(&$0, World.app) }
        #expect(world.status(of: World.id(2)) == 2)
        #expect(try await world.store.watermark(of: World.app) != nil)
    }

    @Test func `continue a full scan where it stopped, on another day too`() async throws {
        func mine(_ job: inout ReconciliationJob) { job.filters = RunFilters(apps: [World.app]) }
        let world = Self.world()
        world.apple.change { $0.stop = (question: 3, reason: .deadlineReached) }
        let stopped = try await world.night("1", mine)
        #expect(!stopped.closesPass)
        world.apple.change { $0.stop = nil }
        let next = try await world.night("2", after: 23, mine)
        #expect(world.apple.asked.count == 1)
        #expect(next.coverage?.roundBefore == 2)
        #expect(next.closesPass)
        let another = try await world.night("3", after: 46, mine)
        #expect(world.apple.asked.count == 3)
        #expect(another.coverage?.roundBefore == nil)
    }

    @Test func `ask nothing where the app has no rows`() async throws {
        let world = World(rows: 3)
        let conclusion = try await world.night("1") { Self.delta(&$0, Self.other) }
        #expect(conclusion.exitStatus == .empty)
    }

    @Test(arguments: [
        (["app a/production"], true), (["app a/production", "app b/production"], true),
        (["app a/production", "limit 3"], false), (["only expiry"], false), ([], false),
    ])
    func `are told from other narrowings by their words`(words: [String], isAlone: Bool) {
        #expect(RunHeader.isForAppsAlone(words) == isAlone)
    }
}
