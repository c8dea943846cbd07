import StoreSupport
import SubscriptionStore
import Subscriptions
import Testing

/// What taking a run back promises about what it had found.
@Suite struct `The contract of taking back` {
    /// A corrected row that was judged, by `run-1`.
    private func corrected(_ store: BooksPlace) async throws -> SQLitePlace {
        let place = try store.place()
        for id in ["1", "2"] { try place.hold(subscription(id)) }
        let night = try await Night(place, "run-1")
        try await night.stage(judged(drift("1", version: 1), status: 2), agreed("2"))
        try await night.apply()
        try await night.conclude()
        return place
    }

    private func judged(_ outcome: RowOutcome, status: Int) -> RowOutcome {
        var result = outcome
        result.examined = .statement
        result.askedBecause = .never
        result.check = RowCheck(
            signedDate: Timestamp(unixMilliseconds: 5000), clock: nil, isLasting: true,
            values: ValuesDigest(
                of: subscription(outcome.key.originalTransactionID, status: status)))
        return result
    }

    private func agreed(_ id: String) -> RowOutcome { judged(outcome(id, .match), status: 1) }

    private func undo(_ place: SQLitePlace) async throws {
        let header = Night.header("undo", after: 1, job: "undo nightly") {
            $0.coversEveryRow = false
            $0.judgesRows = false
        }
        let night = try await Night(place, header)
        _ = try await place.store.stageUndo(ofRun: "run-1", in: night.pass, run: night.run)
        try await night.apply()
        try await night.conclude()
    }

    /// What the schedule of a night finds because somebody wrote to it.
    private func changed(_ night: Night) async throws -> [String] {
        let request = ScheduleRequest(
            now: night.run.started, sweepMilliseconds: 720 * Night.hour,
            sweepEndedMilliseconds: 4320 * Night.hour, sample: .rows(0), seed: 7)
        _ = try await night.store.schedule(
            request, in: night.pass, run: night.run, level: { _ in 0 },
            due: { row, _ in row.check?.check.values == row.values ? nil : .changed })
        return try await night.store.lines(of: .due, after: nil, limit: 9, in: night.pass)
            .map(\.key.originalTransactionID)
    }

    @Test(arguments: BooksPlace.allCases)
    func `a night that mends asks no more and carries nothing`(
        store: BooksPlace
    ) async throws {
        let place = try await corrected(store)
        let next = try await Night(place, "run-2", after: 24)
        #expect(try await changed(next) == [])
        try await next.store.carryOpenFindings(in: next.pass, run: next.run)
        #expect(try await next.store.unresolvedFindings(of: next.pass) == [:])
    }

    @Test(arguments: BooksPlace.allCases)
    func `what was corrected is asked about again and stays open until it is`(
        store: BooksPlace
    ) async throws {
        let place = try await corrected(store)
        try await undo(place)
        let next = try await Night(place, "run-2", after: 24)
        #expect(try await changed(next) == ["1"])
        try await next.store.carryOpenFindings(in: next.pass, run: next.run)
        #expect(try await next.store.unresolvedFindings(of: next.pass) == [.high: 1])
    }

    @Test(arguments: BooksPlace.allCases)
    func `a look that finds it mended closes it`(store: BooksPlace) async throws {
        let place = try await corrected(store)
        try await undo(place)
        let next = try await Night(place, "run-2", after: 24)
        try await next.stage(agreed("1"))
        try await next.conclude()
        let last = try await Night(place, "run-3", after: 48)
        try await last.store.carryOpenFindings(in: last.pass, run: last.run)
        #expect(try await last.store.unresolvedFindings(of: last.pass) == [:])
    }
}
