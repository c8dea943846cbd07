import SubscriptionStore
import Subscriptions
import Testing

/// Invariant: a finding about a period that the company has mended is looked at by the next night,
/// and nobody is asked about one that stands as it was found.
@Suite struct `Findings about periods that changed since` {
    private func finding(_ kind: FindingKind) -> Finding {
        var row = subscription("1")
        row.latestTransactionID = "12"
        var finding = Finding(kind: kind, severity: .high, row: row)
        finding.transactionID = "12"
        finding.field = kind == .price ? "price:12" : "12"
        finding.localValue = kind == .price ? .integer(990) : .text("12")
        return finding
    }

    /// A night that compared two periods with the history, and found something of one.
    private func found(
        _ kind: FindingKind, in database: TemporaryDatabase, readsHistory: Bool = true
    ) async throws -> SQLiteStore {
        let store = try database.open()
        var row = subscription("1")
        row.latestTransactionID = "12"
        try store.load([row, subscription("2")])
        try database.execute(
            """
            INSERT INTO transactions (
                transaction_id, original_transaction_id, environment, bundle_id, price)
            VALUES ('11', '1', 'Production', 'com.example.app', 990),
                ('12', '1', 'Production', 'com.example.app', 990)
            """)
        let night = try await Night.begin(store, Night.header("run-1"))
        var result = outcome("1", .discrepancy)
        result.findings = [finding(kind)]
        result.examined = readsHistory ? .periods : .statement
        try await night.stage(
            result, outcome("2", .match), revisions: readsHistory ? ["1": "r1"] : [:])
        try await night.conclude()
        return store
    }

    /// Whom the next night asks about, where nothing of the rows themselves gives a reason.
    private func asked(
        _ store: SQLiteStore, _ id: String, readsHistories: Bool = true
    ) async throws -> [QueuedQuestion] {
        let night = try await Night.begin(store, Night.header(id, at: Night.start + 86_400_000))
        var request = ScheduleRequest(
            now: night.run.started, sweepMilliseconds: 30 * Milliseconds.perDay,
            sweepEndedMilliseconds: 180 * Milliseconds.perDay, sample: .rows(0), seed: 7)
        request.readsHistories = readsHistories
        let counts = try await store.schedule(
            request, in: night.pass, run: night.run, level: { _ in 0 }, due: { _, _ in nil })
        let lines = try await store.lines(of: .due, after: nil, limit: 9, in: night.pass)
        #expect(counts.due[.changed, default: 0] == lines.count)
        try await night.conclude()
        return lines
    }

    @Test(
        arguments: [FindingKind.transactionUnknown, .transactionMissing, .price],
        [
            "DELETE FROM transactions WHERE transaction_id = '12'",
            "UPDATE transactions SET price = 1 WHERE transaction_id = '12'",
        ])
    func `are asked about once they are not what they were`(
        kind: FindingKind, change: String
    ) async throws {
        let database = try TemporaryDatabase()
        let store = try await found(kind, in: database)
        #expect(try await asked(store, "run-2").isEmpty)
        try database.execute(change)
        let lines = try await asked(store, "run-3")
        #expect(lines.map(\.key) == [key("1")])
        #expect(lines.map(\.reason) == [.changed])
    }

    @Test func `cost nothing where no answer could close them`() async throws {
        let database = try TemporaryDatabase()
        let store = try await found(.transactionUnknown, in: database)
        try database.execute("DELETE FROM transactions WHERE transaction_id = '12'")
        #expect(try await asked(store, "run-2", readsHistories: false).isEmpty)
        #expect(try await asked(store, "run-3").map(\.key) == [key("1")])
    }

    @Test func `of the current price need no history`() async throws {
        let database = try TemporaryDatabase()
        let store = try await found(.price, in: database, readsHistory: false)
        #expect(try await asked(store, "run-2", readsHistories: false).isEmpty)
        try database.execute("UPDATE transactions SET price = 1190 WHERE transaction_id = '12'")
        #expect(try await asked(store, "run-3", readsHistories: false).map(\.key) == [key("1")])
    }

    @Test func `are not asked about for another row's change, nor once closed`() async throws {
        let database = try TemporaryDatabase()
        let store = try await found(.transactionUnknown, in: database)
        try database.execute(
            """
            INSERT INTO transactions (transaction_id, original_transaction_id, environment, bundle_id)
            VALUES ('21', '2', 'Production', 'com.example.app')
            """)
        #expect(try await asked(store, "run-2").isEmpty)
        try database.execute("DELETE FROM transactions WHERE transaction_id = '12'")
        let night = try await Night.begin(
            store, Night.header("run-3", at: Night.start + 86_400_000))
        var mended = outcome("1", .match)
        mended.examined = .periods
        try await night.stage(mended, revisions: ["1": "r2"])
        try await night.conclude()
        #expect(try store.overview(runs: 1).openFindings.isEmpty)
        #expect(try await asked(store, "run-4").isEmpty)
    }
}
