import Reconciliation
import ReconciliationRun
import StoreSupport
import SubscriptionStore
import Subscriptions
import Testing

/// What asking about one case promises.
@Suite struct `An inquiry` {
    private static func history(
        _ id: String, _ number: Int, hasMore: Bool
    ) -> Lookup<HistoryPage> {
        var transaction = World.stated(id).transaction
        transaction.transactionID = "\(id)\(number)"
        transaction.webOrderLineItemID = "\(id)0\(number)"
        transaction.purchaseDate = World.start.adding(
            milliseconds: Int64(number - 40) * 24 * World.hour)
        return .answered(
            HistoryPage(transactions: [transaction], revision: "r\(number)", hasMore: hasMore))
    }

    @Test func `judges the rows that an answer shows beside the one asked for`() async throws {
        let world = World()
        let stated = [World.stated(World.id(0)), World.stated(World.id(1), .expired)]
        for id in [World.id(0), World.id(1)] {
            world.store.hold(World.row(of: World.stated(id)) { $0.customerID = nil })
        }
        world.say(stated)
        try await world.night("run-1")
        #expect(world.status(of: World.id(1)) == 2)
        #expect(world.store.ledger.count == 1)
    }

    @Test func `inserts what an answer shows and no row holds`() async throws {
        let world = World(rows: 1)
        world.say([World.stated(World.id(0)), World.stated(World.id(5))])
        try await world.night("run-1")
        #expect(world.status(of: World.id(5)) == 1)
        #expect(world.store.report(ofRun: "run-1")?.totals.inScope == 1)
    }

    @Test func `confirms an id that Apple does not find only after days`() async throws {
        let world = World(rows: 3)
        world.apple.change { $0.statuses[World.id(1)] = nil }
        var counts: [Int?] = []
        for night in 0..<3 {
            try await world.night("run-\(night)", after: Int64(night) * 24)
            let notes = try await world.store.books.notes(about: [World.key(World.id(1))])
            counts.append(notes[World.key(World.id(1))]?.absence?.distinctDays)
            #expect(world.status(of: World.id(1)) == 1)
        }
        #expect(counts == [1, 2, 3])
    }

    @Test func `never believes an answer that does not verify`() async throws {
        let world = World(rows: 3)
        let rejected = RejectedStatement(
            originalTransactionID: World.id(1),
            failure: VerificationFailure(reason: .signature, detail: "the signature is wrong"),
            payload: World.payload("forged"))
        world.apple.change { script in
            script.statuses[World.id(1)] = .answered(
                StatusAnswer(subscriptions: [], rejected: [rejected]))
        }
        let conclusion = try await world.night("run-1")
        let report = try #require(world.store.report(ofRun: "run-1"))
        #expect(report.undecided == [World.key(World.id(1)): .verificationFailed])
        #expect(report.kinds == [.verificationFailed])
        #expect(world.store.ledger.isEmpty)
        #expect(conclusion.statuses.contains(.incomplete))
    }

    @Test func `ends a run whose answers cannot be read`() async throws {
        let world = World(rows: 60)
        for number in 0..<60 {
            world.apple.change { $0.statuses[World.id(number)] = .undecodable("not JSON") }
        }
        let conclusion = try await world.night("run-1")
        #expect(conclusion.exitStatus == .protocol)
        #expect(world.store.ledger.isEmpty)
    }

    @Test func `reads a history to its end, and on from there the next night`() async throws {
        let world = World(rows: 1)
        let id = World.id(0)
        world.apple.change { script in
            script.histories[id] = [
                Self.history(id, 1, hasMore: true), Self.history(id, 2, hasMore: false),
            ]
        }
        try await world.night("run-1") { $0.policy.history = .always }
        #expect(world.store.periods.map(\.key.transactionID) == [id + "1", id + "2"])
        world.apple.change { $0.histories[id]?.append(Self.history(id, 3, hasMore: false)) }
        try await world.night("run-2", after: 24) { $0.policy.history = .always }
        #expect(world.store.periods.map(\.key.transactionID) == [id + "1", id + "2", id + "3"])
        #expect(world.apple.calls("transaction_history") == 1)
    }

    @Test func `compares no history that has no readable end`() async throws {
        let world = World(rows: 1)
        let id = World.id(0)
        // The second page says the same as the first and promises more.
        world.apple.change { script in
            script.histories[id] = [
                Self.history(id, 1, hasMore: true), Self.history(id, 1, hasMore: true),
            ]
        }
        let conclusion = try await world.night("run-1") { $0.policy.history = .always }
        #expect(world.store.periods.isEmpty)
        #expect(conclusion.exitStatus == .incomplete)
    }

    @Test(arguments: [HistoryUse.never, .whenNeeded])
    func `inserts what waited for a history once that can be read`(
        use: HistoryUse
    ) async throws {
        let world = World(rows: 1)
        let missing = World.stated(World.id(5)) {
            $0.subscriptionGroupID = "second"
            $0.transaction.subscriptionGroupID = "second"
        }
        let answer = [World.stated(World.id(0)), missing]
        func run(_ night: Int64) async throws -> RunConclusion {
            try await world.night("run-\(night)", after: night * 24) {
                `Delta nights`.delta()(&$0)
                $0.policy.history = use
            }
        }
        world.say(answer)
        world.apple.change { script in
            for stated in answer {
                script.histories[stated.originalTransactionID] = [.unavailable("500")]
            }
        }
        for night in Int64(0)...5 {
            let conclusion = try await run(night)
            #expect(world.status(of: World.id(5)) == nil)
            #expect(conclusion.statuses.contains(.incomplete))
            #expect(
                conclusion.messages.contains {
                    $0.hasPrefix("1 transaction histories were not read to their end")
                })
            // One question about the customer is enough for a run.
            #expect(world.apple.asked == [World.id(0)])
            #expect(world.apple.calls("transaction_history") == 1)
        }
        world.say(answer)
        _ = try await run(6)
        #expect(world.status(of: World.id(5)) == 1)
        _ = try await run(7)
        #expect(world.apple.asked.isEmpty)
    }

    @Test func `compares the periods of a history that could not be read by the next run`()
        async throws
    {
        let world = World(rows: 1)
        let id = World.id(0)
        let current = World.stated(id).transaction
        let earlier = [1, 2].compactMap { number -> SignedTransaction? in
            guard case .answered(let page) = Self.history(id, number, hasMore: false) else {
                return nil
            }
            return page.transactions.first
        }
        func tell(_ transactions: [SignedTransaction]) {
            world.apple.change { script in
                script.histories[id] = [
                    .answered(
                        HistoryPage(transactions: transactions, revision: "r", hasMore: false))
                ]
            }
        }
        func run(_ night: Int64, _ use: HistoryUse) async throws -> RunConclusion {
            try await world.night("run-\(night)", after: night * 24) {
                `Delta nights`.delta()(&$0)
                $0.policy.history = use
            }
        }
        tell([current, earlier[0]])
        _ = try await run(0, .always)
        #expect(world.store.periods.count == 2)
        var row = try #require(world.store.rows[World.key(id)])
        row.status = 2
        world.store.hold(row)
        world.apple.change { $0.histories[id] = [.unavailable("500")] }
        #expect(try await run(1, .whenNeeded).statuses.contains(.incomplete))
        #expect(world.status(of: id) == 1)
        // The row agrees by now, but its periods were not compared.
        tell([current] + earlier)
        _ = try await run(2, .whenNeeded)
        #expect(world.store.periods.count == 3)
        _ = try await run(3, .whenNeeded)
        #expect(world.apple.asked.isEmpty)
    }
}
