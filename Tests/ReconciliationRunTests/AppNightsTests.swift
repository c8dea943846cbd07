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
