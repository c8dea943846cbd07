import ReconciliationRun
import StoreSupport
import Subscriptions
import Testing

/// Nights with a customer who pays under two Apple Accounts, which no answer of Apple's shows together.
@Suite struct `Nights with a customer who pays twice` {
    private static let day: Int64 = 24

    /// Two subscriptions of two Apple Accounts; the row of each names this customer.
    private func world(
        _ ids: [String], customer: String? = "anna",
        _ change: (inout StatedSubscription) -> Void = { _ in }
    ) -> World {
        let world = World()
        for (index, id) in ids.enumerated() {
            let stated = World.stated(id) { if index > 0 { change(&$0) } }
            world.store.hold(World.row(of: stated) { $0.customerID = customer })
            world.say([stated])
        }
        return world
    }

    private func kinds(_ world: World, _ run: String) -> [FindingKind]? {
        world.store.report(ofRun: run)?.kinds
    }

    /// The longer id is the later one, whichever of the two is asked about first.
    @Test(arguments: [["100", "101"], ["99", "100"]])
    func `report the pair once, in every night in which both are asked about`(
        ids: [String]
    ) async throws {
        let world = world(ids)
        try await world.night("run-1")
        for night in 2...4 {
            try await world.night("run-\(night)", after: Int64(night) * Self.day)
            #expect(Set(world.apple.asked) == Set(ids))
            #expect(kinds(world, "run-\(night)") == [.overlappingSubscriptions])
            #expect(world.store.report(ofRun: "run-\(night)")?.totals.matched == 1)
        }
        #expect(world.store.ledger.isEmpty)
    }

    @Test func `ask about the later one alone, and carry on what is known`() async throws {
        let (earlier, later) = (World.id(0), World.id(1))
        let world = world([earlier, later])
        try await world.night("run-1", `Delta nights`.delta())
        #expect(kinds(world, "run-1") == [])
        try await world.night("run-2", after: Self.day, `Delta nights`.delta())
        #expect(world.apple.asked == [later])
        #expect(kinds(world, "run-2") == [.overlappingSubscriptions])
        try await world.night("run-3", after: 2 * Self.day, `Delta nights`.delta())
        #expect(world.apple.asked.isEmpty)
        #expect(kinds(world, "run-3") == [.overlappingSubscriptions])
        // The earlier one has ended, and the company knows it.
        world.expire(earlier)
        world.store.hold(
            World.row(of: World.stated(earlier, .expired)) { $0.customerID = "anna" })
        try await world.night("run-4", after: 3 * Self.day, `Delta nights`.delta())
        #expect(world.apple.asked == [earlier])
        try await world.night("run-5", after: 4 * Self.day, `Delta nights`.delta())
        // The sweep looks at one ended row a night, and there is but one.
        #expect(Set(world.apple.asked) == [earlier, later])
        #expect(kinds(world, "run-5") == [])
        try await world.night("run-6", after: 5 * Self.day, `Delta nights`.delta())
        #expect(world.apple.asked == [earlier])
        #expect(kinds(world, "run-6") == [])
    }

    @Test func `find what a known customer buys under another account`() async throws {
        let (earlier, later) = (World.id(0), World.id(1))
        let world = world([earlier])
        try await world.night("run-1", `Delta nights`.delta())
        let stated = World.stated(later)
        world.store.hold(World.row(of: stated) { $0.customerID = "anna" })
        world.say([stated])
        try await world.night("run-2", after: Self.day, `Delta nights`.delta())
        #expect(world.apple.asked == [later])
        try await world.night("run-3", after: 2 * Self.day, `Delta nights`.delta())
        #expect(world.apple.asked == [later])
        #expect(kinds(world, "run-3") == [.overlappingSubscriptions])
    }

    @Test func `ignore family sharing, another group, and rows without a customer`() async throws {
        let ids = [World.id(0), World.id(1)]
        let worlds = [
            world(ids) { $0.transaction.inAppOwnershipType = "FAMILY_SHARED" },
            world(ids) { $0.transaction.subscriptionGroupID = "another" },
            world(ids) { $0.transaction.isUpgraded = true },
            world(ids, customer: nil), world(ids, customer: ""),
        ]
        for world in worlds {
            for night in 1...3 {
                try await world.night(
                    "run-\(night)", after: Int64(night) * Self.day, `Delta nights`.delta())
                #expect(
                    kinds(world, "run-\(night)")?.contains(.overlappingSubscriptions) == false)
                #expect(night == 1 || world.apple.asked.isEmpty)
            }
        }
    }
}
