import GRDB
import SubscriptionStore
import Subscriptions
import Testing

/// Bookkeeping does not grow without end, and what is owed, open or proof stays.
@Suite struct `Retaining bookkeeping` {
    private static let day: Int64 = 86_400_000
    private static let later = Timestamp(unixMilliseconds: Night.start + 500 * day)

    /// Three nights, two long ago and one now: row 1 is corrected, row 2 moved and stays open.
    private func threeNights() async throws -> (TemporaryDatabase, SQLiteStore) {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load(["1", "2", "3"].map { subscription($0) })
        for (number, day) in [Int64(0), 1, 500].enumerated() {
            let night = try await Night.begin(
                store,
                Night.header("run-\(number + 1)", at: Night.start + day * Self.day))
            switch number {
            case 0: try await night.stage(drift("1"), outcome("3", .undecided(.unavailable)))
            case 1: try await night.stage(drift("2", version: 9))
            default: try await night.stage(outcome("1", .match))
            }
            try await night.apply()
            try await night.conclude()
        }
        try database.execute(
            """
            INSERT INTO trueup_notifications (notification_uuid, signed_date)
                VALUES ('old', \(Night.start)), ('new', \(Night.start + 499 * Self.day));
            INSERT INTO trueup_outbox (ledger_entry, idempotency_key, event, bundle_id, environment,
                original_transaction_id, body, next_attempt_at, told_at, given_up_at)
                VALUES (7, 'told', 'e', 'b', 'p', '1', NULL, 0, \(Night.start), NULL),
                    (8, 'waiting', 'e', 'b', 'p', '1', '{}', 0, NULL, NULL),
                    (9, 'given up', 'e', 'b', 'p', '1', '{}', 0, NULL, \(Night.start));
            """)
        return (database, store)
    }

    private func expire(_ store: SQLiteStore) async throws -> Int {
        try await store.expireBookkeeping(
            before: Self.later.adding(milliseconds: -400 * Self.day), at: Self.later)
    }

    @Test func `what is past its retention goes, once`() async throws {
        let (database, store) = try await threeNights()
        #expect(try await expire(store) == 4)
        #expect(
            try database.rows("SELECT notification_uuid FROM trueup_notifications") == [["new"]])
        #expect(
            try database.rows("SELECT idempotency_key FROM trueup_outbox ORDER BY 1")
                == [["given up"], ["waiting"]])
        #expect(try database.value("SELECT count(*) FROM trueup_run_undecided") == "0")
        #expect(try database.value("SELECT count(*) FROM trueup_run_findings") == "0")
        #expect(try await expire(store) == 0)
    }

    @Test func `an event whose message was erased goes like one that was told`() async throws {
        let (database, store) = try await threeNights()
        try database.execute("UPDATE trueup_outbox SET body = NULL WHERE ledger_entry = 9")
        let totals = try await store.outboxTotals(at: Self.later)
        #expect((totals.delivered, totals.waiting) == (1, 1))
        #expect((totals.givenUp, totals.erased) == (0, 1))
        #expect(try await store.retryGivenUp(at: Self.later) == 0)
        _ = try await expire(store)
        #expect(
            try database.rows("SELECT idempotency_key FROM trueup_outbox") == [["waiting"]])
    }

    @Test func `what is open, and what proves what was written, stays`() async throws {
        let (database, store) = try await threeNights()
        let before = try database.rows("SELECT * FROM trueup_findings ORDER BY finding_id")
        let ledger = try database.rows("SELECT * FROM trueup_ledger")
        let shown = try database.rows("SELECT * FROM trueup_reported_ranges")
        _ = try await expire(store)
        #expect(try database.rows("SELECT * FROM trueup_findings ORDER BY finding_id") == before)
        #expect(try database.rows("SELECT * FROM trueup_ledger") == ledger)
        #expect(try database.rows("SELECT * FROM trueup_reported_ranges") == shown)
        #expect(
            try database.rows("SELECT original_transaction_id FROM trueup_pass_findings") == [["2"]]
        )
        // The newest run's report can be rendered again, an old one says why not.
        #expect(throws: Never.self) { _ = try store.runRecord(ofRun: "run-3") }
        #expect(throws: StoreError.self) { _ = try store.runRecord(ofRun: "run-1") }
        let undo = try await Night.begin(
            store, Night.header("undo", at: Self.later.unixMilliseconds, job: "undo run-1"))
        #expect(
            try await store.stageUndo(ofRun: "run-1", in: undo.pass, run: undo.run).ready == 1)
        // What was corrected is open again, although nothing else is left of that run's lists.
        let state = "SELECT state FROM trueup_findings WHERE original_transaction_id = '1'"
        #expect(try database.value(state) == "corrected")
        try await undo.apply()
        #expect(try database.value(state) == "open")
    }

    @Test func `status says how much there is of each kind, and since when`() async throws {
        let (database, store) = try await threeNights()
        defer { withExtendedLifetime(database) {} }
        let counts = try store.overview(runs: 1).bookkeeping
        #expect(
            counts.map(\.kind) == [
                "pass rows", "run findings", "undecided", "notifications", "told events",
            ])
        #expect(counts.map(\.rows) == [0, 2, 2, 2, 1])
        #expect(counts[3].oldest == Timestamp(unixMilliseconds: Night.start))
        #expect(counts[1].oldest == Timestamp(unixMilliseconds: Night.start))
    }
}
