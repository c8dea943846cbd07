import SubscriptionStore
import Subscriptions
import Testing

/// The promises of the store about what a pass has judged.
@Suite struct `The contract of a pass` {
    private func night(_ store: BooksPlace) async throws -> (SQLitePlace, Night) {
        let place = try store.place()
        for id in ["1", "2", "3"] { try place.hold(subscription(id)) }
        return (place, try await Night(place, "run-1"))
    }

    @Test(arguments: BooksPlace.allCases)
    func `a settled row is settled once, unless an outcome replaces another`(
        store: BooksPlace
    ) async throws {
        let (_, night) = try await night(store)
        try await night.stage(outcome("1", .match))
        try await night.stage(drift("1", version: 1))
        #expect(try await night.store.planTotals(of: night.pass).totals.matched == 1)
        #expect(try await night.store.unresolvedFindings(of: night.pass) == [:])
        try await night.stage(drift("1", version: 1), replaces: true)
        let totals = try await night.store.planTotals(of: night.pass)
        #expect(totals.totals.discrepant == 1)
        #expect(totals.totals.matched == 0)
        #expect(totals.changes == 1)
        try await night.stage(outcome("1", .match), replaces: true)
        #expect(try await night.store.planTotals(of: night.pass).changes == 0)
        #expect(try await night.store.unresolvedFindings(of: night.pass) == [:])
    }

    @Test(arguments: BooksPlace.allCases)
    func `what is only noted settles no row`(store: BooksPlace) async throws {
        let (_, night) = try await night(store)
        try await night.stage(outcome("1", nil), outcome("2", .excluded(.inFlight)))
        #expect(try await night.settled("1", "2", "3") == ["2"])
        try await night.stage(outcome("1", .match))
        #expect(try await night.settled("1", "2", "3") == ["1", "2"])
    }

    @Test(arguments: BooksPlace.allCases)
    func `the walk goes on where its last page was staged`(store: BooksPlace) async throws {
        let (place, night) = try await night(store)
        try await night.stage(outcome("1", .match), outcome("2", .match), through: "2")
        let next = try await Night(place, "run-2", after: 1)
        #expect(next.pass.walkedThrough == key("2"))
        #expect(try await next.settled("1", "2", "3") == ["1", "2"])
    }

    @Test(arguments: BooksPlace.allCases)
    func `rows to ask again come in key order until they are replaced`(
        store: BooksPlace
    ) async throws {
        let (_, night) = try await night(store)
        try await night.stage(
            outcome("2", .undecided(.unavailable)), outcome("1", .undecided(.unavailable)),
            outcome("3", .match), asksAgain: ["2", "1"])
        func again(after position: SubscriptionKey? = nil) async throws -> [SubscriptionKey] {
            try await night.store.rowsToAskAgain(after: position, limit: 9, in: night.pass)
        }
        #expect(try await again() == [key("1"), key("2")])
        #expect(try await again(after: key("1")) == [key("2")])
        try await night.stage(outcome("1", .match), replaces: true)
        #expect(try await again() == [key("2")])
        // Asked for a row that was settled otherwise, it is ignored.
        try await night.stage(outcome("3", .undecided(.unavailable)), asksAgain: ["3"])
        #expect(try await again() == [key("2")])
    }

    @Test(arguments: BooksPlace.allCases)
    func `a judged id is one that Apple answered about`(store: BooksPlace) async throws {
        let (_, night) = try await night(store)
        #expect(try await night.store.judgedID(of: app, in: night.pass) == nil)
        try await night.stage(outcome("1", .undecided(.unavailable)))
        #expect(try await night.store.judgedID(of: app, in: night.pass) == nil)
        try await night.stage(outcome("2", .match))
        #expect(try await night.store.judgedID(of: app, in: night.pass) == "2")
        let sandbox = AppIdentity(bundleID: app.bundleID, environment: .sandbox)
        #expect(try await night.store.judgedID(of: sandbox, in: night.pass) == nil)
    }

    @Test(arguments: BooksPlace.allCases)
    func `a subscription for which another row stands is not planned`(
        store: BooksPlace
    ) async throws {
        let (_, night) = try await night(store)
        try await night.stage(missing("8"))
        #expect(try await night.store.planTotals(of: night.pass).changes == 1)
        var aliasRow = outcome("3", .discrepancy)
        var finding = Finding(
            kind: .invalidID, severity: .high, row: LocalSubscription(key: key("3")))
        finding.appleValue = .text("8")
        aliasRow.findings = [finding]
        try await night.stage(aliasRow)
        #expect(try await night.store.planTotals(of: night.pass).changes == 0)
    }

    @Test(arguments: BooksPlace.allCases)
    func `a run that was not begun in the pass stages nothing`(
        store: BooksPlace
    ) async throws {
        let (_, night) = try await night(store)
        await #expect(throws: StoreError.self) {
            try await night.store.stage(
                StagedBatch(outcomes: [outcome("1", .match)]), in: night.pass,
                run: Night.header("stranger"))
        }
        #expect(try await night.settled("1") == [])
    }
}
