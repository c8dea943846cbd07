import ReconciliationRun
import StoreSupport
import Subscriptions
import Testing

/// A key that Apple refuses, or an app that it does not know, stops the calls of that app alone: the
/// work on the others goes on.
@Suite struct `Nights with an app that Apple refuses` {
    /// Three rows of the first app, and two of another, which agree with Apple.
    private static func world(with bundleID: String) -> World {
        var world = World(rows: 3)
        let other = ScriptedAppStore(AppIdentity(bundleID: bundleID, environment: .production))
        world.others = [other]
        for number in 10..<12 {
            let id = World.id(number)
            let stated = World.stated(id) { $0.transaction.bundleID = bundleID }
            world.store.hold(
                World.row(of: stated) {
                    $0.key = SubscriptionKey(app: other.app, originalTransactionID: id)
                })
            let answer = Lookup.answered(StatusAnswer(subscriptions: [stated]))
            other.change { $0.statuses[id] = answer }
        }
        return world
    }

    /// The apps are asked in the order of their names.
    private static let names = ["com.example.aaa", "com.example.zzz"]

    @Test(arguments: names, [true, false])
    func `ask about all the rows of the others, and correct them`(
        denied: String, asksEverybody: Bool
    ) async throws {
        let world = Self.world(with: denied)
        let other = try #require(world.others.first)
        other.change { $0.denial = "The key is revoked." }
        let refunded = World.stated(World.id(1), .expired)
        world.say([refunded])
        world.tell([World.notification("refund", refunded)])
        let change = asksEverybody ? { _ in } : `Delta nights`.delta()
        let conclusion = try await world.night("run-1", change)
        #expect(conclusion.exitStatus == .denied)
        #expect(world.status(of: World.id(1)) == 2)
        #expect(other.asked.isEmpty)
        #expect(other.calls("notification_history") == 1)
        let report = try #require(world.store.report(ofRun: "run-1"))
        #expect(report.undecidedCounts == [.unavailable: 2])
        #expect(report.totals.judged == 3)
        #expect(try await world.store.watermark(of: other.app) == nil)
        #expect(try await world.store.watermark(of: World.app) != nil)
        let message = conclusion.messages.joined(separator: " ")
        #expect(message.contains("The key is revoked."))
        #expect(message.contains("The run made no further call for \(denied) (Production)"))
        #expect(message.contains("checked 3 rows"))
        #expect(!message.contains("every row counts as undecided"))
    }

    @Test(arguments: names)
    func `owe the rows of the app to the night with a good key`(denied: String) async throws {
        let world = Self.world(with: denied)
        let other = try #require(world.others.first)
        other.change { $0.denial = "The key is revoked." }
        try await world.night("run-1", `Delta nights`.delta())
        other.change { $0.denial = nil }
        let next = try await world.night("run-2", after: 24, `Delta nights`.delta())
        #expect(next.exitStatus == .ok, "\(next.messages)")
        #expect(other.asked.count == 2)
        #expect(try await world.store.watermark(of: other.app) != nil)
    }

    @Test func `go on when the key is refused in the middle`() async throws {
        let world = Self.world(with: "com.example.aaa")
        let other = try #require(world.others.first)
        other.change { $0.stop = (question: 2, reason: .denied("The key is revoked.")) }
        world.expire(World.id(2))
        let conclusion = try await world.night("run-1")
        #expect(conclusion.exitStatus == .denied)
        #expect(other.asked.count == 2)
        #expect(world.status(of: World.id(2)) == 2)
        let report = try #require(world.store.report(ofRun: "run-1"))
        #expect(report.undecidedCounts == [.unavailable: 1])
        #expect(report.totals.judged == 4)
    }

    @Test(arguments: names)
    func `end at once when every key is refused`(name: String) async throws {
        let world = Self.world(with: name)
        world.apple.change { $0.denial = "The first key is revoked." }
        world.others.first?.change { $0.denial = "The other key is revoked." }
        let conclusion = try await world.night("run-1")
        #expect(conclusion.exitStatus == .denied)
        #expect(!conclusion.closesPass)
        let message = try #require(conclusion.messages.first)
        #expect(message.contains("The first key is revoked."))
        #expect(message.contains("The other key is revoked."))
        #expect(world.apple.asked.isEmpty)
        #expect(world.store.ledger.isEmpty)
    }

    @Test func `end at once when the only app that is asked about is refused`() async throws {
        let world = Self.world(with: "com.example.zzz")
        world.apple.change { $0.denial = "The key is revoked." }
        let conclusion = try await world.night("run-1") {
            $0.filters = RunFilters(apps: [World.app])
        }
        #expect(conclusion.exitStatus == .denied)
        #expect(!conclusion.closesPass)
        #expect(world.others.first?.asked.isEmpty == true)
    }

    @Test(arguments: names, [true, false])
    func `do the same where Apple does not know the app`(
        unknown: String, asksEverybody: Bool
    ) async throws {
        let world = Self.world(with: unknown)
        let other = try #require(world.others.first)
        other.change { $0.isUnknown = "Apple does not know the app." }
        let refunded = World.stated(World.id(1), .expired)
        world.say([refunded])
        world.tell([World.notification("refund", refunded)])
        let change = asksEverybody ? { _ in } : `Delta nights`.delta()
        let conclusion = try await world.night("run-1", change)
        #expect(conclusion.exitStatus == .config)
        #expect(world.status(of: World.id(1)) == 2)
        #expect(other.asked.isEmpty)
        #expect(other.calls("notification_history") == 1)
        let report = try #require(world.store.report(ofRun: "run-1"))
        #expect(report.undecidedCounts == [.unavailable: 2])
        #expect(try await world.store.watermark(of: other.app) == nil)
        let message = conclusion.messages.joined(separator: " ")
        #expect(message.contains("Apple does not know the app. The run made no further call for"))
        #expect(message.contains("checked 3 rows"))
        // The settings are mended, and the next night has everything.
        other.change { $0.isUnknown = nil }
        let next = try await world.night("run-2", after: 24, change)
        if !asksEverybody { #expect(next.exitStatus == .ok, "\(next.messages)") }
        #expect(try await world.store.watermark(of: other.app) != nil)
    }

    @Test func `hold both statuses when one key is refused and the other app not known`()
        async throws
    {
        let world = Self.world(with: "com.example.zzz")
        world.apple.change { $0.isUnknown = "Apple does not know the app." }
        world.others.first?.change { $0.denial = "The key is revoked." }
        let conclusion = try await world.night("run-1")
        #expect(Set(conclusion.statuses).isSuperset(of: [.denied, .config]))
        #expect(!conclusion.closesPass)
        let message = try #require(conclusion.messages.first)
        #expect(message.contains("The key is revoked."))
        #expect(message.contains("Apple does not know the app."))
        #expect(world.store.ledger.isEmpty)
    }

    @Test func `end with what the shared books of the calls say`() async throws {
        let world = Self.world(with: "com.example.zzz")
        world.expire(World.id(1))
        world.apple.change { $0.stop = (question: 2, reason: .store(.unavailable("No server."))) }
        let conclusion = try await world.night("run-1")
        #expect(conclusion.exitStatus == .unavailable)
        #expect(conclusion.messages.contains("No server."))
        #expect(!conclusion.closesPass)
        #expect(world.store.ledger.isEmpty)
    }
}
