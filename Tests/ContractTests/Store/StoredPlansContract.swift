import SubscriptionStore
import Subscriptions
import Testing

/// The promises of the store about earlier plans and runs that are taken back.
@Suite struct `The contract of stored plans` {
    private func header(_ id: String, after hours: Int64) -> RunHeader {
        Night.header(id, after: hours, job: "apply") { $0.coversEveryRow = false }
    }

    private func undo(
        _ runID: String, as id: String, _ place: SQLitePlace, after hours: Int64
    ) async throws -> UndoCounts {
        let night = try await Night(place, header(id, after: hours))
        let counts = try await place.store.stageUndo(
            ofRun: runID, in: night.pass, run: night.run)
        try await night.apply()
        try await night.conclude()
        return counts
    }

    /// Two corrected rows and an inserted one, by `run-1`.
    private func corrected(_ store: BooksPlace) async throws -> SQLitePlace {
        let place = try store.place()
        for id in ["1", "2"] { try place.hold(subscription(id)) }
        let night = try await Night(place, "run-1")
        try await night.stage(drift("1", version: 1), drift("2", version: 1), missing("4"))
        try await night.apply()
        try await night.conclude()
        return place
    }

    private func statuses(_ place: SQLitePlace) async throws -> [String: Int?] {
        try await place.store.rows(after: nil, limit: 99).reduce(into: [:]) {
            $0[$1.row.key.originalTransactionID] = $1.row.status
        }
    }

    @Test(arguments: BooksPlace.allCases)
    func `a run is taken back, and that again`(store: BooksPlace) async throws {
        let place = try await corrected(store)
        #expect(try await statuses(place) == ["1": 2, "2": 2, "4": 1])
        #expect(try await undo("run-1", as: "undo", place, after: 1).ready == 3)
        #expect(try await statuses(place) == ["1": 1, "2": 1])
        #expect(try place.ledger().compactMap(\.undoOf).sorted() == [1, 2, 3])
        #expect(try await undo("undo", as: "redo", place, after: 2).ready == 3)
        #expect(try await statuses(place) == ["1": 2, "2": 2, "4": 1])
        // What the second undo brought back is its to revert.
        let again = try await undo("run-1", as: "again", place, after: 3)
        #expect(again.done == 0)
        #expect(again.named.count == 3)
        #expect(again.named.allSatisfy { $0.hasSuffix("by run redo: trueup undo redo") })
        #expect(again.ready == 0)
        #expect(try place.ledger().count == 9)
    }

    @Test(arguments: BooksPlace.allCases)
    func `what somebody wrote to since is not taken back, and that is said`(
        store: BooksPlace
    ) async throws {
        let place = try await corrected(store)
        try place.hold(subscription("1", status: 5, signed: 9000))
        let counts = try await undo("run-1", as: "undo", place, after: 1)
        #expect(counts.ready == 2)
        #expect(counts.conflicts == 1)
        #expect(counts.named.count == 1)
        #expect(counts.named.first?.hasPrefix("1: ") == true)
        #expect(try await statuses(place) == ["1": 5, "2": 1])
    }

    @Test(arguments: BooksPlace.allCases)
    func `there is no taking back of a run that never was`(store: BooksPlace) async throws {
        let place = try store.place()
        let night = try await Night(place, header("undo", after: 0))
        await #expect(throws: StoreError.self) {
            try await place.store.stageUndo(
                ofRun: "nobody", in: night.pass, run: night.run)
        }
    }

    /// The plan of a check over two rows.
    private func planned(_ place: SQLitePlace) async throws -> String {
        for id in ["1", "2"] { try place.hold(subscription(id)) }
        let check = try await Night(place, Night.header("check-1", mode: .check))
        try await check.stage(drift("1", version: 1), drift("2", version: 1))
        let seal = try await place.store.sealPlan(of: check.pass, run: check.run)
        try await check.conclude()
        return seal.sha256
    }

    @Test(arguments: BooksPlace.allCases)
    func `a plan is applied as it was made, against the whole that it is a share of`(
        store: BooksPlace
    ) async throws {
        let place = try store.place()
        let plan = try await planned(place)
        let night = try await Night(place, header("apply-1", after: 1))
        try await place.store.stagePlan(plan, in: night.pass, run: night.run)
        #expect(
            try await place.store.sealPlan(of: night.pass, run: night.run).sha256 == plan)
        let origin = try await place.store.planTotals(ofPlan: plan)
        #expect(origin.totals.discrepant == 2)
        #expect(origin.changes == 0)
        try await night.apply()
        #expect(try await statuses(place) == ["1": 2, "2": 2])
        #expect(try await place.store.unresolvedFindings(of: night.pass) == [:])
    }

    @Test(arguments: BooksPlace.allCases)
    func `a plan is taken up with the causes that its run found`(
        store: BooksPlace
    ) async throws {
        let place = try store.place()
        for id in ["1", "2"] { try place.hold(subscription(id)) }
        let check = try await Night(place, Night.header("check-1", mode: .check))
        try await check.stage(drift("1", version: 1), drift("2", version: 1))
        let found = try await place.store.findingsToExplain(
            after: nil, limit: 10, in: check.pass)
        let first = try #require(found.first)
        try await place.store.explain(
            [first.sequence: "did not reach us"], in: check.pass, run: check.run)
        let seal = try await place.store.sealPlan(of: check.pass, run: check.run)
        try await check.conclude()

        let night = try await Night(place, header("apply-1", after: 1))
        try await place.store.stagePlan(seal.sha256, in: night.pass, run: night.run)
        let copies = try await place.store.findingsToExplain(
            after: nil, limit: 10, in: night.pass)
        #expect(copies.count == found.count)
        let same = copies.filter { $0.finding.key == first.finding.key }
        #expect(same.contains { $0.finding.cause == "did not reach us" })
        #expect(
            copies.filter { $0.finding.key != first.finding.key }
                .allSatisfy { $0.finding.cause != "did not reach us" })
    }

    @Test(arguments: BooksPlace.allCases)
    func `what a killed run wrote under a plan counts as applied`(
        store: BooksPlace
    ) async throws {
        let place = try store.place()
        let plan = try await planned(place)
        let killed = try await Night(place, header("apply-1", after: 1))
        try await place.store.stagePlan(plan, in: killed.pass, run: killed.run)
        _ = try await place.store.applyPlanned(
            limit: 1, in: killed.pass, run: killed.run, at: Night.start)
        let next = try await Night(place, header("apply-2", after: 48))
        try await place.store.stagePlan(plan, in: next.pass, run: next.run)
        #expect(try await next.apply() == 1)
        #expect(try place.ledger().count == 2)
        #expect(try await place.store.unwritten(of: next.pass, now: Night.start).counts.isEmpty)
    }

    @Test(arguments: BooksPlace.allCases)
    func `a plan that nobody made is not taken up`(store: BooksPlace) async throws {
        let place = try store.place()
        let night = try await Night(place, header("apply-1", after: 0))
        await #expect(throws: StoreError.self) {
            try await place.store.stagePlan("nobody's", in: night.pass, run: night.run)
        }
    }
}
