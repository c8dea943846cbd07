import StoreSupport
import SubscriptionStore
import Subscriptions
import Testing

/// The promises of the store about a plan, its canary, and the ledger.
@Suite struct `The contract of plans and the ledger` {
    private func night(
        _ store: BooksPlace, _ ids: [String], mode: RunMode = .apply
    ) async throws -> (SQLitePlace, Night) {
        let place = try store.place()
        for id in ids { try place.hold(subscription(id)) }
        return (place, try await Night(place, Night.header("run-1", mode: mode)))
    }

    @Test(arguments: BooksPlace.allCases)
    func `each written correction has exactly one entry, chained to the one before`(
        store: BooksPlace
    ) async throws {
        let (place, night) = try await night(store, ["1", "2", "3"])
        try await night.stage(drift("1", version: 1), drift("2", version: 1), missing("4"))
        #expect(try await night.apply(limit: 2) == 3)
        #expect(try await night.apply() == 0)
        let ledger = try place.ledger()
        #expect(ledger.map(\.originalTransactionID) == ["1", "2", "4"])
        #expect(ledger.map(\.number) == [1, 2, 3])
        #expect(
            ledger.map(\.previousHash) == [LedgerEntry.firstPreviousHash]
                + ledger.dropLast().map(\.hash))
        #expect(Set(ledger.map(\.hash)).count == 3)
        #expect(try await night.row("1")?.row.status == 2)
        #expect(try await night.row("3")?.row.status == 1)
        #expect(try await night.row("4")?.row.status == 1)
        // What it inserted is no row in scope of the pass.
        #expect(try await night.settled("4") == ["4"])
    }

    @Test(arguments: BooksPlace.allCases)
    func `a row that moved is left as it is, and that is said`(
        store: BooksPlace
    ) async throws {
        let (place, night) = try await night(store, ["1", "2", "3"])
        try await night.stage(
            drift("1", version: 1), drift("2", version: 1), drift("3", version: 1), missing("4"))
        try place.hold(subscription("1", status: 3, signed: 6000))
        try place.remove(key("2"))
        try place.hold(subscription("4", status: 3))
        #expect(try await night.apply() == 4)
        #expect(try await night.row("1")?.row.status == 3)
        #expect(try await night.row("2") == nil)
        #expect(try await night.row("4")?.row.status == 3)
        #expect(try place.ledger().map(\.originalTransactionID) == ["3"])
        let unwritten = try await night.store.unwritten(of: night.pass, now: Night.start)
        #expect(unwritten.counts == [.stale: 3])
        #expect(unwritten.named == [.stale: ["1", "2", "4"]])
        try await night.conclude()
        let report = try #require(try place.report(ofRun: "run-1"))
        #expect(report.undecided == [key("1"): .changedDuringRun, key("2"): .changedDuringRun])
    }

    @Test(arguments: BooksPlace.allCases)
    func `older evidence never overwrites newer`(store: BooksPlace) async throws {
        let (place, night) = try await night(store, ["1"])
        var older = drift("1", version: 1, signed: 900)
        older.corrections[0].rewrite { $0[.signedDate] = nil }
        try await night.stage(older)
        try await night.apply()
        #expect(try await night.row("1")?.row.status == 1)
        #expect(try place.ledger().isEmpty)
    }

    @Test(arguments: BooksPlace.allCases)
    func `nothing is written without its evidence, nor by a check`(
        store: BooksPlace
    ) async throws {
        let (place, night) = try await night(store, ["1"])
        var bare = drift("1", version: 1)
        bare.evidence = []
        try await night.stage(bare)
        try await night.apply()
        #expect(
            try await night.store.unwritten(of: night.pass, now: Night.start).counts == [
                .unproven: 1
            ])
        let check = try await Night(place, Night.header("run-2", mode: .check))
        try await check.stage(drift("1", version: 1))
        await #expect(throws: StoreError.self) { try await check.apply() }
        #expect(try place.ledger().isEmpty)
    }

    @Test(arguments: BooksPlace.allCases, [true, false])
    func `access ends only where another subscription stands as giving it`(
        store: BooksPlace, isHeld: Bool
    ) async throws {
        let (place, night) = try await night(store, ["1"])
        var loss = drift("1", version: 1)
        loss.corrections[0].continuedBy = ["4"]
        try await night.stage(loss)
        if isHeld { try await night.stage(missing("4")) }
        // The loss sorts first and is written last, with the gain.
        try await night.apply(limit: 1)
        #expect(try await night.row("1")?.row.status == (isHeld ? 2 : 1))
        #expect(
            try place.ledger().map(\.originalTransactionID) == (isHeld ? ["4", "1"] : []))
        #expect(
            try await night.store.unwritten(of: night.pass, now: Night.start).counts
                == (isHeld ? [:] : [.heldBack: 1]))
    }

    @Test(arguments: BooksPlace.allCases)
    func `a plan has one identity until something is staged`(
        store: BooksPlace
    ) async throws {
        let (_, night) = try await night(store, ["1", "2"])
        let ledger = night.store
        try await night.stage(drift("1", version: 1))
        let seal = try await ledger.sealPlan(of: night.pass, run: night.run)
        #expect(seal.changes == 1)
        #expect(seal.head.plannedBy == "run-1")
        #expect(try await ledger.sealPlan(of: night.pass, run: night.run) == seal)
        try await night.stage(drift("2", version: 1))
        let second = try await ledger.sealPlan(of: night.pass, run: night.run)
        #expect(second.sha256 != seal.sha256)
        #expect(second.changes == 2)
        try await night.apply()
        #expect(try await ledger.sealPlan(of: night.pass, run: night.run) == second)
    }

    @Test(arguments: BooksPlace.allCases)
    func `the plan is folded in the order of its subscriptions, written ones included`(
        store: BooksPlace
    ) async throws {
        let (_, night) = try await night(store, ["1", "2", "3"])
        try await night.stage(
            drift("3", version: 1), drift("1", version: 1), drift("2", version: 99))
        func ids() async throws -> [String] {
            try await night.store.reducePlan(of: night.pass, into: [String]()) {
                ids, correction, _ in ids.append(correction.subscription.originalTransactionID)
            }
        }
        #expect(try await ids() == ["1", "2", "3"])
        try await night.apply()
        #expect(try await ids() == ["1", "3"])
        let totals = try await night.store.planTotals(of: night.pass)
        #expect(totals.changes == 2)
        #expect(totals.tableRows == 3)
        #expect(totals.totals.discrepant == 2)
        #expect(totals.totals.undecided == [.changedDuringRun: 1])
    }

    @Test(arguments: BooksPlace.allCases)
    func `rows that the plan only fills are counted before anything is written`(
        store: BooksPlace
    ) async throws {
        let (_, night) = try await night(store, ["1", "2"])
        var fill = drift("2", version: 1)
        fill.verdict = .match
        fill.findings = []
        fill.corrections[0].kinds = []
        try await night.stage(drift("1", version: 1), fill)
        let totals = try await night.store.planTotals(of: night.pass)
        #expect(totals.changes == 2)
        #expect(totals.totals.filled == 1)
        #expect(totals.totals.matched == 1)
    }

    @Test(arguments: BooksPlace.allCases)
    func `what was lifted for a killed run holds for the one that goes on`(
        store: BooksPlace
    ) async throws {
        let (place, night) = try await night(store, ["1"])
        let lift = GuardLift(
            name: .maxChanges, reason: "known", actor: "ops@host", liftedAt: Night.start,
            liftedBy: "run-1", breach: "too many")
        try await night.store.recordLifts([lift], in: night.pass, run: night.run)
        let second = try await Night(place, "run-2", after: 1)
        #expect(try await place.store.liftsOfKilledRuns(in: second.pass) == [lift])
        try await second.conclude()
        let third = try await Night(place, "run-3", after: 2)
        #expect(try await place.store.liftsOfKilledRuns(in: third.pass).isEmpty)
    }

    @Test(arguments: BooksPlace.allCases)
    func `a canary is written alone, and chosen once`(store: BooksPlace) async throws {
        let (place, night) = try await night(store, ["1", "2", "3"])
        let canary = night.store
        for id in ["1", "2", "3"] { try await night.stage(drift(id, version: 1)) }
        #expect(try await canary.canarySize(of: night.pass) == 0)
        #expect(try await canary.extendCanary(by: 2, in: night.pass, run: night.run) == 2)
        let second = try await Night(place, "run-2", after: 1)
        #expect(try await canary.canarySize(of: second.pass) == 2)
        let taken = try await canary.applyPlanned(
            isCanary: true, limit: 9, in: second.pass, run: second.run, at: Night.start)
        #expect(taken == 2)
        #expect(
            try await canary.writtenCanary(of: second.pass) == [
                CanaryRow(key: key("1"), kindsBefore: [.accessUnpaid]),
                CanaryRow(key: key("2"), kindsBefore: [.accessUnpaid]),
            ])
        #expect(try place.ledger().map(\.originalTransactionID) == ["1", "2"])
        #expect(try await canary.extendCanary(by: 2, in: second.pass, run: second.run) == 1)
    }

    @Test(arguments: BooksPlace.allCases)
    func `a canary takes the kinds of corrections in turn`(store: BooksPlace) async throws {
        let (_, night) = try await night(store, ["1", "2", "3"])
        for id in ["1", "2", "3"] { try await night.stage(drift(id, version: 1)) }
        try await night.stage(missing("8"))
        let canary = night.store
        #expect(try await canary.extendCanary(by: 2, in: night.pass, run: night.run) == 2)
        _ = try await canary.applyPlanned(
            isCanary: true, limit: 9, in: night.pass, run: night.run, at: Night.start)
        #expect(try await canary.writtenCanary(of: night.pass).map(\.key) == [key("1"), key("8")])
    }
}
