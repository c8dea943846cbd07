import Foundation
import GRDB
import StoreSupport
import Subscriptions
import Synchronization
import Testing

@testable import SubscriptionStore

/// The company's services wait while one of our transactions runs, so none may grow with the table.
@Suite struct `Taking turns` {
    /// Counts the rows that each transaction changes.
    final class Observer: TransactionObserver {
        private let counts = Mutex<(before: Int, largest: Int)>((0, 0))

        var largest: Int { counts.withLock(\.largest) }

        func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
        func databaseDidChange(with event: DatabaseEvent) {}
        func databaseDidRollback(_ db: Database) {}

        func databaseDidCommit(_ db: Database) {
            let total = db.totalChangesCount
            counts.withLock { counts in
                counts.largest = max(counts.largest, total - counts.before)
                counts.before = total
            }
        }
    }

    private static let rows = 3000
    private static let ids = (1...rows).map { String(10_000 + $0) }

    private func matching(_ id: String) -> RowOutcome {
        var outcome = outcome(id, .match)
        outcome.examined = .statement
        return outcome
    }

    private func stage(_ night: Night, _ outcomes: [RowOutcome]) async throws {
        for start in stride(from: 0, to: outcomes.count, by: 256) {
            let some = Array(outcomes[start..<min(start + 256, outcomes.count)])
            try await night.store.stage(
                StagedBatch(outcomes: some), in: night.pass, run: night.run)
        }
    }

    /// A night of which nothing but the conclusion may be large: every row drifted, the next every
    /// row mended by the company itself, and between them one that was killed while it concluded.
    @Test func `no transaction grows with what a night found`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load(Self.ids.map { subscription($0) })
        let observer = Observer()
        store.connection.add(transactionObserver: observer, extent: .databaseLifetime)

        let first = try await Night.begin(store, Night.header("run-1", mode: .check))
        try await stage(first, Self.ids.map { drift($0) })
        _ = try await store.extendCanary(by: 20, in: first.pass, run: first.run)
        #expect(try await first.conclude().findings().count == Self.rows)

        let killed = try await Night.begin(
            store, Night.header("run-2", mode: .check, at: Night.start + 1000))
        try await stage(killed, Self.ids.map { outcome($0, .undecided(.unavailable)) })
        try database.execute(
            """
            CREATE TRIGGER no_end BEFORE UPDATE OF ended ON trueup_runs
            BEGIN SELECT RAISE(ABORT, 'killed'); END
            """)
        await #expect(throws: StoreError.self) { try await killed.conclude() }
        try database.execute("DROP TRIGGER no_end")
        #expect(
            try database.value("SELECT count(*) FROM trueup_run_undecided") == "\(Self.rows)")

        let last = try await Night.begin(
            store, Night.header("run-3", mode: .check, at: Night.start + 2000))
        #expect(try database.value("SELECT count(*) FROM trueup_run_undecided") == "0")
        try await stage(last, Self.ids.map { matching($0) })
        try await last.conclude()
        #expect(
            try database.rows("SELECT DISTINCT state FROM trueup_findings") == [["resolved"]])
        #expect(observer.largest > 100)
        #expect(observer.largest <= 2 * StoreLimits.rowsPerChunk, "\(observer.largest)")
    }

    /// A receiver that is down while a backfill reports every row.
    @Test func `no transaction grows with the events that wait`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try CompanyService(at: database.path).hold(
            eventsOf: Self.ids, at: Timestamp(unixMilliseconds: Night.start))
        let observer = Observer()
        store.connection.add(transactionObserver: observer, extent: .databaseLifetime)

        let later = Timestamp(unixMilliseconds: Night.start + 60_000)
        try await store.postpone(until: later)
        let due = "SELECT next_attempt_at, count(*) FROM trueup_outbox GROUP BY 1"
        #expect(
            try database.rows(due) == [["\(later.unixMilliseconds)", "\(Self.rows)"]])
        try database.execute("UPDATE trueup_outbox SET given_up_at = 1, attempts = 6")
        #expect(try await store.retryGivenUp(at: later) == Self.rows)
        #expect(
            try database.value("SELECT count(*) FROM trueup_outbox WHERE attempts = 0")
                == "\(Self.rows)")
        #expect(observer.largest > 100)
        #expect(observer.largest <= StoreLimits.rowsPerChunk, "\(observer.largest)")
    }

    /// Its load fails after a part, which stays; the same file then brings the rest.
    @Test func `no transaction grows with a file of notifications`() throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        func load() throws -> LoadCounts {
            try store.loadNotifications(of: app) { add in
                for id in Self.ids {
                    _ = try add(ReceivedNotification(notificationUUID: id, receivedAt: nil))
                }
            }
        }
        let half = Self.rows / 2
        try database.execute(
            """
            CREATE TRIGGER no_more BEFORE INSERT ON trueup_notifications
            WHEN (SELECT count(*) FROM trueup_notifications) >= \(half)
            BEGIN SELECT RAISE(ABORT, 'killed'); END
            """)
        #expect(throws: StoreError.self) { try load() }
        try database.execute("DROP TRIGGER no_more")
        let part = StoreLimits.rowsPerChunk
        #expect(
            try database.value("SELECT count(*) FROM trueup_notifications") == "\(part)")
        let rest = try load()
        #expect((rest.inserted, rest.unchanged) == (Self.rows - part, part))
    }

    /// The report stands on the run; where its findings stand over the nights is entered after it.
    @Test func `a run killed after its end is remembered by the next one`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load(["1", "2"].map { subscription($0) })
        let first = try await Night.begin(store, Night.header("run-1", mode: .check))
        try await first.stage(drift("1"), drift("2"))
        try await first.conclude()

        // The second night finds 2 mended and 1 as it was, and dies before it notes so.
        let second = try await Night.begin(
            store, Night.header("run-2", mode: .check, at: Night.start + 1000))
        try await second.stage(drift("1"), matching("2"))
        try database.execute(
            """
            CREATE TRIGGER no_memory BEFORE INSERT ON trueup_findings
            BEGIN SELECT RAISE(ABORT, 'killed'); END
            """)
        let record = try await second.conclude()
        try database.execute("DROP TRIGGER no_memory")
        #expect(try record.findings().map(\.state) == [.open])
        let states = "SELECT original_transaction_id, state FROM trueup_findings ORDER BY 1"
        #expect(try database.rows(states) == [["1", "new"], ["2", "new"]])

        let third = try await Night.begin(
            store, Night.header("run-3", mode: .check, at: Night.start + 2000))
        #expect(try database.rows(states) == [["1", "open"], ["2", "resolved"]])
        #expect(try database.value("SELECT count(*) FROM trueup_unremembered_runs") == "0")
        try await third.stage(drift("1"), drift("2"))
        let again = try await third.conclude().findings()
        #expect(
            again.map(\.firstSeen)
                == Array(repeating: Timestamp(unixMilliseconds: Night.start), count: 2))
    }
}
