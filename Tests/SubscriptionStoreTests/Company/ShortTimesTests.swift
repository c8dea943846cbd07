import SubscriptionStore
import Subscriptions
import Testing

/// A column that keeps less of a time than Apple states.
@Suite struct `A time that the company keeps to the second` {
    private let now = Timestamp(unixMilliseconds: Night.start)
    private static let before = Timestamp(unixMilliseconds: 1_790_000_000_000)
    /// As Apple signed it.
    private static let stated = Timestamp(unixMilliseconds: 1_792_592_030_502)

    private func place() throws -> (TemporaryDatabase, CompanyFile) {
        let database = try TemporaryDatabase()
        var company = try CompanyFile(beside: database, ids: ["1", "2"])
        try company.execute("ALTER TABLE subs ADD COLUMN ends INTEGER DEFAULT 1790000000")
        company.mapping.columns[.expiresDate] = .column("ends", .seconds)
        return (database, company)
    }

    private func renewal(_ id: String) -> RowOutcome {
        var outcome = drift(id).ofCopy
        outcome.corrections[0].rewrite { changes in
            changes[.status] = nil
            changes[.expiresDate] = FieldChange(
                before: .time(Self.before), after: .time(Self.stated))
        }
        return outcome
    }

    private func ends(_ company: CompanyFile) throws -> [String] {
        try company.rows("SELECT ends FROM subs ORDER BY otid").map { $0[0] }
    }

    @Test func `the entry states what Apple signed, and the next reading differs in nothing`()
        async throws
    {
        let (database, company) = try place()
        let store = try company.open(database)
        _ = try await store.refreshCopy(for: .apply, at: now)
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(renewal("1"))
        #expect(try await night.apply() == 1)
        let entry = try #require(try await night.conclude().entries().first)
        #expect(entry.changes.ofSubscription[.expiresDate]?.after == .time(Self.stated))
        #expect(try ends(company) == ["1792592030", "1790000000"])
        let refresh = try #require(try await store.refreshCopy(for: .apply, at: now).first)
        #expect(refresh.changed == 0)
        let rows = try store.subscriptions()
        #expect(rows.map(\.rowVersion) == [2, 1])
        #expect(rows[0].expiresDate == Self.stated)
    }

    @Test func `what was written is taken back`() async throws {
        let (database, company) = try place()
        let store = try company.open(database)
        _ = try await store.refreshCopy(for: .apply, at: now)
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(renewal("1"))
        try await night.apply()
        try await night.conclude()
        _ = try await store.refreshCopy(for: .apply, at: now)
        let undoing = try await Night.begin(store, Night.header("run-2", job: "undo run-1"))
        _ = try await store.stageUndo(ofRun: "run-1", in: undoing.pass, run: undoing.run)
        try await undoing.apply()
        #expect(try await undoing.conclude().fates() == [.applied])
        #expect(try ends(company) == ["1790000000", "1790000000"])
    }

    @Test func `another time of the service's is read, and never overwritten`() async throws {
        let (database, company) = try place()
        let store = try company.open(database)
        _ = try await store.refreshCopy(for: .apply, at: now)
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(renewal("1"))
        try await night.apply()
        try await night.conclude()
        try company.execute("UPDATE subs SET ends = 1792592031 WHERE otid = '1'")
        let undoing = try await Night.begin(store, Night.header("run-2", job: "undo run-1"))
        _ = try await store.stageUndo(ofRun: "run-1", in: undoing.pass, run: undoing.run)
        try await undoing.apply()
        #expect(try await undoing.conclude().fates() == [.stale])
        #expect(try ends(company) == ["1792592031", "1790000000"])
        let refresh = try #require(try await store.refreshCopy(for: .apply, at: now).first)
        #expect(refresh.changed == 1)
        #expect(
            try store.subscriptions()[0].expiresDate
                == Timestamp(unixMilliseconds: 1_792_592_031_000))
    }
}
