import Foundation
import SubscriptionStore
import Subscriptions
import Testing

@Suite struct `Waiting events` {
    private static let start = Timestamp(unixMilliseconds: Night.start)
    private static let everything = EventNaming([.init(.expiration)], delivered: [.expiration])

    /// A store in which these rows were corrected, told by `naming`.
    private func corrected(
        _ database: TemporaryDatabase, _ ids: [String] = ["1", "2", "3"],
        naming: EventNaming? = everything, becoming statuses: [String: Int64] = [:]
    ) async throws -> SQLiteStore {
        let store = try SQLiteStore.open(
            at: database.path, access: .readWrite, naming: naming)
        try store.load(ids.map { subscription($0, customer: "customer \($0)") })
        let night = try await Night.begin(store, Night.header("run-1"))
        for id in ids { try await night.stage(drift(id, to: statuses[id] ?? 2)) }
        try await night.apply()
        try await night.conclude()
        return store
    }

    /// One more correction of a row, in a night of its own.
    private func correctAgain(
        _ store: SQLiteStore, _ id: String, version: Int64, run: String
    ) async throws {
        let night = try await Night.begin(store, Night.header(run))
        try await night.stage(drift(id, version: version, from: (2, 5000), to: 3, signed: 6000))
        try await night.apply()
        try await night.conclude()
    }

    private func due(
        _ store: SQLiteStore, minutes: Int64 = 0, limit: Int = 10
    ) async throws -> [OutboxEvent] {
        try await store.dueEvents(
            at: Self.start.adding(milliseconds: minutes * 60_000), limit: limit)
    }

    @Test func `hold everything that the ledger says, and the row as it is now`() async throws {
        let database = try TemporaryDatabase()
        let store = try await corrected(database, ["1"])
        let event = try #require(try await due(store).first)
        let object = try JSONSerialization.jsonObject(with: Data(event.body.utf8))
        let message = try #require(object as? [String: Any])
        let hash = try database.value("SELECT hash FROM trueup_ledger")
        #expect(event.idempotencyKey == hash)
        #expect(message["idempotency_key"] as? String == hash)
        #expect(message["ledger_hash"] as? String == hash)
        #expect(message["event"] as? String == "expiration")
        #expect(message["original_transaction_id"] as? String == "1")
        #expect(message["customer_id"] as? String == "customer 1")
        #expect(message["app"] as? String == app.bundleID)
        #expect(message["environment"] as? String == "Production")
        #expect(message["run_id"] as? String == "run-1")
        #expect(message["ledger_entry"] as? Int == 1)
        #expect((message["before"] as? [String: Any])?["status"] as? Int == 1)
        #expect((message["after"] as? [String: Any])?["status"] as? Int == 2)
        #expect((message["subscription"] as? [String: Any])?["status"] as? Int == 2)
        #expect((message["evidence"] as? String)?.count == 64)
    }

    @Test func `are counted by the run that wrote the corrections`() async throws {
        let database = try TemporaryDatabase()
        let store = try await corrected(database)
        #expect(try store.corrections(writtenByRun: "run-1") == 3)
        #expect(try store.corrections(writtenByRun: "run-2") == 0)
    }

    @Test func `are in order, also behind a restore that gives their numbers again`() async throws {
        let database = try TemporaryDatabase()
        let store = try await corrected(database, ["1", "2"])
        func orders() async throws -> [String] {
            try await due(store, minutes: 1000).map { event in
                let object = try JSONSerialization.jsonObject(with: Data(event.body.utf8))
                let message = try #require(object as? [String: Any])
                return try #require(message["order"] as? String)
            }
        }
        let before = try await orders()
        #expect(before == before.sorted() && Set(before).count == 2, "\(before)")
        // Noticed by a clock that goes back from one loss to the next.
        for (hash, minutes) in [("a", Int64(10)), ("b", 5), ("b", 20)] {
            try await store.lookAtEveryRowAgain(
                afterLossOf: String(repeating: hash, count: 64),
                at: Self.start.adding(milliseconds: minutes * 60_000))
        }
        let noticed = Self.start.unixMilliseconds + 600_000
        #expect(
            try database.value("SELECT group_concat(noticed_at) FROM trueup_restores")
                == "\(noticed),\(noticed + 1)")
        for event in try await due(store) {
            try await store.record(.delivered, of: event, at: Self.start)
        }
        try await correctAgain(store, "1", version: 2, run: "run-2")
        let after = try #require(try await orders().first)
        #expect(before.allSatisfy { $0 < after })
        #expect(after.hasPrefix("00\(noticed + 1)-") && after.hasSuffix("-0000000000000000003"))
    }

    @Test func `are named from the entry and the row after the correction`() async throws {
        let database = try TemporaryDatabase()
        // Row 2 is given another status than the others, and nobody is to hear of that.
        let naming = EventNaming(
            [
                .init(
                    .refund, when: .changes(.status), .held(.status, .integer(1)),
                    .holds(.status, [.integer(2)])),
                .init(.billingIssue, when: .holds(.status, [.integer(3)])),
                .init(.correction),
            ], delivered: [.refund, .correction])
        let store = try await corrected(database, naming: naming, becoming: ["2": 3])
        #expect(try await due(store).map(\.event) == ["refund", "refund"])
        #expect(try await due(store).map(\.ledgerEntry) == [1, 3])
    }

    @Test func `are not written for anybody when nobody is told, nor by a check`() async throws {
        let database = try TemporaryDatabase()
        let store = try await corrected(database, naming: nil)
        #expect(try await store.outboxTotals(at: Self.start).isEmpty)

        let checked = try TemporaryDatabase()
        let other = try SQLiteStore.open(
            at: checked.path, access: .readWrite, naming: Self.everything)
        try other.load([subscription("1")])
        let night = try await Night.begin(other, Night.header("run-1", mode: .check))
        try await night.stage(drift("1"))
        try await night.conclude()
        #expect(try await other.outboxTotals(at: Self.start).isEmpty)
    }

    @Test func `go with their correction when that is rolled back`() async throws {
        let database = try TemporaryDatabase()
        try database.execute(
            """
            CREATE TRIGGER guard BEFORE UPDATE ON subscriptions
            WHEN NEW.original_transaction_id = '2' BEGIN SELECT RAISE(ABORT, 'no'); END
            """)
        let store = try await corrected(database)
        #expect(
            try await due(store).map(\.subscription.originalTransactionID) == ["1", "3"])
        #expect(
            try database.rows("SELECT ledger_entry FROM trueup_outbox ORDER BY 1")
                == database.rows("SELECT entry FROM trueup_ledger ORDER BY 1"))
    }

    @Test func `take their correction back when they cannot be written`() async throws {
        let database = try TemporaryDatabase()
        try database.execute(
            """
            CREATE TRIGGER fault BEFORE INSERT ON trueup_outbox WHEN NEW.ledger_entry = 2
            BEGIN SELECT RAISE(ABORT, 'fault'); END
            """)
        await #expect(throws: StoreError.self) { _ = try await corrected(database) }
        #expect(try database.value("SELECT count(*) FROM trueup_ledger") == "0")
        #expect(try database.rows("SELECT DISTINCT status FROM subscriptions") == [["1"]])
        #expect(try database.value("SELECT count(*) FROM trueup_outbox") == "0")
    }

    @Test func `of one subscription come one after the other, in the ledger's order`()
        async throws
    {
        let database = try TemporaryDatabase()
        let store = try await corrected(database, ["1", "2"])
        try await correctAgain(store, "1", version: 2, run: "run-2")
        let first = try await due(store)
        #expect(first.map(\.ledgerEntry) == [1, 2])
        // The older one fails and waits: the newer one waits with it.
        let later = Self.start.adding(milliseconds: 300_000)
        try await store.record(.failed("refused", nextAttempt: later), of: first[0], at: Self.start)
        #expect(try await due(store).map(\.ledgerEntry) == [2])
        #expect(try await due(store, minutes: 5).map(\.ledgerEntry) == [2, 1])
        try await store.record(.delivered, of: first[0], at: later)
        #expect(try await due(store, minutes: 5).map(\.ledgerEntry) == [2, 3])
    }

    @Test func `that were given up hold nothing back, are kept, and can be taken up again`()
        async throws
    {
        let database = try TemporaryDatabase()
        let store = try await corrected(database, ["1"])
        try await correctAgain(store, "1", version: 2, run: "run-2")
        let event = try #require(try await due(store).first)
        try await store.record(.failed("answered 500", nextAttempt: nil), of: event, at: Self.start)
        #expect(try await due(store).map(\.ledgerEntry) == [2])
        var totals = try await store.outboxTotals(at: Self.start)
        #expect(totals.givenUp == 1)
        #expect(totals.waiting == 1)
        #expect(totals.lastError == "answered 500")
        #expect(try await store.retryGivenUp(at: Self.start) == 1)
        let again = try await due(store)
        #expect(again.map(\.ledgerEntry) == [1])
        #expect(again.first?.attempts == 0)
        #expect(again.first?.body == event.body)
        totals = try await store.outboxTotals(at: Self.start)
        #expect(totals.givenUp == 0)
    }

    @Test func `drop their message once told, and are counted`() async throws {
        let database = try TemporaryDatabase()
        let store = try await corrected(database)
        for event in try await due(store, limit: 2) {
            try await store.record(.delivered, of: event, at: Self.start)
        }
        #expect(
            try database.rows("SELECT body IS NULL FROM trueup_outbox") == [["1"], ["1"], ["0"]])
        let totals = try await store.outboxTotals(at: Self.start)
        #expect(totals.delivered == 2)
        #expect(totals.waiting == 1)
        #expect(totals.nextAttempt == Self.start)
        #expect(totals.lastError == nil)
        #expect(try store.overview(runs: 1, at: Self.start).outbox == totals)
    }

    @Test func `wait together when the receiver is not well, none less long than before`()
        async throws
    {
        let store = try await corrected(try TemporaryDatabase())
        let events = try await due(store)
        let late = Self.start.adding(milliseconds: 3_600_000)
        try await store.record(.failed("busy", nextAttempt: late), of: events[0], at: Self.start)
        try await store.postpone(until: Self.start.adding(milliseconds: 300_000))
        #expect(try await due(store, minutes: 4).isEmpty)
        #expect(try await due(store, minutes: 5).map(\.ledgerEntry) == [2, 3])
        #expect(try await due(store, minutes: 60).map(\.ledgerEntry) == [2, 3, 1])
    }
}
