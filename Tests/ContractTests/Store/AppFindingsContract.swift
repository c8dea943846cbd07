import StoreSupport
import SubscriptionStore
import Subscriptions
import Testing

/// What the books promise of open findings where runs are for some apps alone.
@Suite struct `The contract of findings in runs for some apps` {
    private static let other = AppIdentity(bundleID: "com.example.other", environment: .production)

    private static func key(_ id: String, of app: AppIdentity) -> SubscriptionKey {
        SubscriptionKey(app: app, originalTransactionID: id)
    }

    private static func header(
        _ id: String, after hours: Int64, for apps: [AppIdentity]? = nil
    ) -> RunHeader {
        Night.header(id, after: hours) { header in
            header.apps = apps ?? [app, Self.other]
            header.filters =
                apps?.map { "app \($0.bundleID)/\($0.environment.rawValue.lowercased())" } ?? []
        }
    }

    /// A row with a finding that nothing corrects.
    private static func refused(_ key: SubscriptionKey) -> RowOutcome {
        var outcome = RowOutcome(key: key, verdict: .discrepancy)
        var finding = Finding(
            kind: .accessUnpaid, severity: .high, row: LocalSubscription(key: key))
        finding.field = "status"
        outcome.findings = [finding]
        outcome.examined = .statement
        return outcome
    }

    /// A row of each of the two apps, each with an open finding.
    private static func place(_ store: BooksPlace) async throws -> SQLitePlace {
        let place = try store.place()
        for app in [app, other] { try place.hold(LocalSubscription(key: key("1", of: app))) }
        let first = try await Night(place, header("run-1", after: 0))
        try await first.stage(refused(key("1", of: app)), refused(key("1", of: other)))
        try await first.conclude(acceptedRows: 2)
        return place
    }

    /// The findings that a whole run would call open.
    private static func open(in place: SQLitePlace) async throws -> [Severity: Int] {
        let last = try await Night(place, header("last", after: 200))
        try await last.store.carryOpenFindings(in: last.pass, run: last.run)
        return try await last.store.unresolvedFindings(of: last.pass)
    }

    @Test(arguments: BooksPlace.allCases)
    func `a run repeats the open findings of its apps alone`(store: BooksPlace) async throws {
        let place = try await Self.place(store)
        let night = try await Night(place, Self.header("run-2", after: 24, for: [Self.other]))
        try await night.store.carryOpenFindings(in: night.pass, run: night.run)
        #expect(try await night.store.unresolvedFindings(of: night.pass) == [.high: 1])
        try await night.conclude(acceptedRows: 2)
        #expect(try place.report(ofRun: "run-2")?.kinds == [.accessUnpaid])
        #expect(try await Self.open(in: place) == [.high: 2])
    }

    @Test(arguments: BooksPlace.allCases)
    func `a run closes what it finds mended of its apps`(store: BooksPlace) async throws {
        let place = try await Self.place(store)
        let night = try await Night(place, Self.header("run-2", after: 24, for: [Self.other]))
        var mended = RowOutcome(key: Self.key("1", of: Self.other), verdict: .match)
        mended.examined = .statement
        try await night.stage(mended)
        try await night.store.carryOpenFindings(in: night.pass, run: night.run)
        try await night.conclude(acceptedRows: 2)
        #expect(try place.report(ofRun: "run-2")?.kinds == [])
        #expect(try await Self.open(in: place) == [.high: 1])
    }

    @Test(arguments: BooksPlace.allCases, [true, false])
    func `a run closes what was found of rows that are gone, of its apps alone`(
        store: BooksPlace, isOwn: Bool
    ) async throws {
        let place = try await Self.place(store)
        try place.remove(Self.key("1", of: Self.other))
        let night = try await Night(
            place, Self.header("run-2", after: 24, for: [isOwn ? Self.other : app]))
        try await night.conclude(acceptedRows: 1)
        // Were it still open, a row of that key would have it again.
        try place.hold(LocalSubscription(key: Self.key("1", of: Self.other)))
        #expect(try await Self.open(in: place) == [.high: isOwn ? 1 : 2])
    }
}
