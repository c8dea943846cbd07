import SubscriptionStore
import Subscriptions
import Testing

/// What a report shows of the runs before its own.
@Suite struct `The runs before a run` {
    private static let day: Int64 = 86_400_000

    private func earlier(_ record: SQLiteRunRecord, since first: Int64 = 0) throws -> [EarlierRun] {
        var runs: [EarlierRun] = []
        try record.forEachEarlierRun(since: Timestamp(unixMilliseconds: first)) { runs.append($0) }
        return runs
    }

    private func night(
        _ id: String, _ number: Int64, in store: SQLiteStore, job: String = "nightly",
        mode: RunMode = .apply, _ outcomes: RowOutcome...
    ) async throws -> SQLiteRunRecord {
        let header = Night.header(
            id, mode: mode, at: Night.start + number * Self.day, job: job)
        let night = try await Night.begin(store, header)
        for outcome in outcomes { try await night.stage(outcome) }
        return try await night.conclude()
    }

    @Test func `are those of its job and mode that began before it, oldest first`() async throws {
        let database = try TemporaryDatabase()
        defer { withExtendedLifetime(database) {} }
        let store = try database.open()
        _ = try await night("run-1", 0, in: store, drift("1"))
        _ = try await night("run-2", 1, in: store, job: "audit")
        _ = try await night("run-3", 2, in: store, mode: .check)
        let record = try await night("run-4", 3, in: store, outcome("1", .match))
        _ = try await night("run-5", 4, in: store)
        let runs = try earlier(record)
        #expect(runs.map(\.runID) == ["run-1"])
        let first = try #require(runs.first)
        #expect(first.exitStatus == .ok)
        #expect(first.totals.discrepant == 1)
        #expect(first.calls == 3)
        #expect(!first.isPartial)
        #expect(first.figures?.kinds == ["access_unpaid": 1])
        #expect(
            first.figures?.money == [
                MoneyTotal(currency: "EUR", direction: .companyLoses, amount: 990, findings: 1)
            ])
        #expect(try earlier(record, since: Night.start + 1).isEmpty)
    }

    @Test func `stay what they were when their lists are past retention`() async throws {
        let database = try TemporaryDatabase()
        defer { withExtendedLifetime(database) {} }
        let store = try database.open()
        _ = try await night("run-1", 0, in: store, drift("1"))
        let record = try await night("run-2", 1, in: store, outcome("1", .match))
        let before = try earlier(record)
        let now = Timestamp(unixMilliseconds: Night.start + 2 * Self.day)
        _ = try await store.expireBookkeeping(
            before: Timestamp(unixMilliseconds: Night.start + Self.day), at: now)
        #expect(try earlier(record) == before)
    }

    @Test func `are of other apps where a run is for some apps alone`() async throws {
        let database = try TemporaryDatabase()
        defer { withExtendedLifetime(database) {} }
        let store = try database.open()
        let alone = ["app \(app.name)"]
        var records: [SQLiteRunRecord] = []
        for (number, filters) in [[], alone, alone, []].enumerated() {
            var header = Night.header(
                "run-\(number)", at: Night.start + Int64(number) * Self.day)
            header.filters = filters
            records.append(try await Night.begin(store, header).conclude())
        }
        #expect(try earlier(records[2]).map(\.isOfOtherApps) == [true, false])
        #expect(try earlier(records[2]).map(\.isPartial) == [false, false])
        #expect(try earlier(records[3]).map(\.isOfOtherApps) == [false, false, false])
        #expect(try earlier(records[3]).map(\.isPartial) == [false, true, true])
    }

    @Test func `a killed one has no exit status`() async throws {
        let database = try TemporaryDatabase()
        defer { withExtendedLifetime(database) {} }
        let store = try database.open()
        _ = try await Night.begin(store, Night.header("run-1"))
        let record = try await night("run-2", 1, in: store)
        #expect(try earlier(record).map(\.exitStatus) == [nil])
    }

    @Test func `a run keeps what its report states beside it`() async throws {
        let database = try TemporaryDatabase()
        defer { withExtendedLifetime(database) {} }
        let store = try database.open()
        let record = try await night("run-1", 0, in: store)
        #expect(try record.context() == nil)
        try await store.keepReportContext("apps and roots", ofRun: "run-1")
        #expect(try record.context() == "apps and roots")
    }

    @Test func `what newer reports state is found, but for runs whose report is awaited`()
        async throws
    {
        let database = try TemporaryDatabase()
        defer { withExtendedLifetime(database) {} }
        let store = try database.open()
        for number in 1...4 {
            _ = try await night("run-\(number)", Int64(number), in: store)
            guard number != 2 else { continue }
            try await store.keepReportContext("text \(number)", ofRun: "run-\(number)")
        }
        try await store.reportIsAwaited(ofRun: "run-4")
        let found = try store.newestReportContexts(8)
        #expect(found.map(\.runID) == ["run-3", "run-1"])
        #expect(found.map(\.context) == ["text 3", "text 1"])
        #expect(try store.newestReportContexts(1).map(\.runID) == ["run-3"])
    }
}
