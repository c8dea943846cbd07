import EventDelivery
import Foundation
import GRDB
import InMemoryPorts
import SubscriptionStore
import Subscriptions
import Testing
import trueup

/// What `Outbox` promises, whoever stands behind it.
@Suite struct `The contract of Outbox` {
    private let now = Timestamp(unixMilliseconds: 1_790_000_000_000)

    /// An outbox that holds an event of each of these subscriptions, in the ledger's order.
    private func outbox(
        _ store: Implementation, _ subscriptions: [String]
    ) throws -> (outbox: any Outbox, folder: TemporaryStore?) {
        switch store {
        case .inMemory: (InMemoryOutbox(subscriptions, at: now), nil)
        case .sqlite:
            try { () throws -> (outbox: any Outbox, folder: TemporaryStore?) in
                let folder = try TemporaryStore()
                try folder.hold(subscriptions, at: now)
                return (folder.store, folder)
            }()
        }
    }

    @Test(arguments: Implementation.allCases)
    func `an older event of a subscription holds back the newer ones`(
        store: Implementation
    ) async throws {
        let (outbox, folder) = try outbox(store, ["a", "b", "a"])
        let due = try await outbox.dueEvents(at: now, limit: 9)
        #expect(due.map(\.ledgerEntry) == [1, 2])
        let first = try #require(due.first)
        try await outbox.record(.told, of: first, at: now)
        #expect(try await outbox.dueEvents(at: now, limit: 9).map(\.ledgerEntry) == [2, 3])
        #expect(try await outbox.dueEvents(at: now, limit: 1).map(\.ledgerEntry) == [2])
        withExtendedLifetime(folder) {}
    }

    @Test(arguments: Implementation.allCases)
    func `what failed waits for its next attempt and comes last`(
        store: Implementation
    ) async throws {
        let (outbox, folder) = try outbox(store, ["a", "b"])
        let first = try #require(try await outbox.dueEvents(at: now, limit: 1).first)
        let later = now.adding(milliseconds: 1000)
        try await outbox.record(.failed("answered 500", nextAttempt: later), of: first, at: now)
        #expect(try await outbox.dueEvents(at: now, limit: 9).map(\.ledgerEntry) == [2])
        let due = try await outbox.dueEvents(at: later, limit: 9)
        #expect(due.map(\.ledgerEntry) == [2, 1])
        #expect(due.last?.attempts == 1)
        #expect(due.last?.idempotencyKey == first.idempotencyKey)
        #expect(due.last?.body == first.body)
        #expect(try await outbox.outboxTotals(at: now).lastError == "answered 500")
        withExtendedLifetime(folder) {}
    }

    @Test(arguments: Implementation.allCases)
    func `what was given up waits no more, until it is tried again`(
        store: Implementation
    ) async throws {
        let (outbox, folder) = try outbox(store, ["a", "b"])
        let first = try #require(try await outbox.dueEvents(at: now, limit: 1).first)
        try await outbox.record(.failed("answered 410", nextAttempt: nil), of: first, at: now)
        let totals = try await outbox.outboxTotals(at: now)
        #expect((totals.told, totals.waiting, totals.givenUp) == (0, 1, 1))
        #expect(try await outbox.dueEvents(at: now, limit: 9).map(\.ledgerEntry) == [2])
        #expect(try await outbox.retryGivenUp(at: now) == 1)
        let due = try await outbox.dueEvents(at: now, limit: 9)
        #expect(due.map(\.ledgerEntry) == [1, 2])
        #expect(due.first?.attempts == 0)
        #expect(try await outbox.retryGivenUp(at: now) == 0)
        withExtendedLifetime(folder) {}
    }

    @Test(arguments: Implementation.allCases)
    func `nothing is due before the receiver is well again`(store: Implementation) async throws {
        let (outbox, folder) = try outbox(store, ["a", "b"])
        let later = now.adding(milliseconds: 5000)
        try await outbox.postpone(until: later)
        #expect(try await outbox.dueEvents(at: now, limit: 9).isEmpty)
        #expect(try await outbox.outboxTotals(at: now).nextAttempt == later)
        #expect(try await outbox.dueEvents(at: later, limit: 9).map(\.ledgerEntry) == [1, 2])
        // It never brings anything forward.
        try await outbox.postpone(until: now)
        #expect(try await outbox.dueEvents(at: now, limit: 9).isEmpty)
        withExtendedLifetime(folder) {}
    }

    @Test(arguments: Implementation.allCases)
    func `what failed under a wrong clock is due once the clock is right`(
        store: Implementation
    ) async throws {
        let (outbox, folder) = try outbox(store, ["a", "b", "a"])
        let wrong = now.adding(milliseconds: 400 * 86_400_000)
        let next = wrong.adding(milliseconds: 300_000)
        for event in try await outbox.dueEvents(at: wrong, limit: 9) {
            try await outbox.record(
                .failed("answered 500", nextAttempt: next), of: event, at: wrong)
        }
        try await outbox.postpone(until: next)
        #expect(try await outbox.dueEvents(at: wrong, limit: 9).isEmpty)
        #expect(try await outbox.outboxTotals(at: wrong).nextAttempt == next)
        #expect(try await outbox.dueEvents(at: now, limit: 9).map(\.ledgerEntry) == [1, 2])
        #expect(try await outbox.outboxTotals(at: now).nextAttempt == now)
        // A receiver that is still not well has its rest.
        let rest = now.adding(milliseconds: 300_000)
        try await outbox.postpone(until: rest)
        #expect(try await outbox.dueEvents(at: now, limit: 9).isEmpty)
        #expect(try await outbox.dueEvents(at: rest, limit: 9).map(\.ledgerEntry) == [1, 2])
        withExtendedLifetime(folder) {}
    }

    @Test(arguments: Implementation.allCases)
    func `the next attempt is of an event that no older one holds back`(
        store: Implementation
    ) async throws {
        let (outbox, folder) = try outbox(store, ["a", "a"])
        let first = try #require(try await outbox.dueEvents(at: now, limit: 1).first)
        let later = now.adding(milliseconds: 300_000)
        try await outbox.record(.failed("answered 500", nextAttempt: later), of: first, at: now)
        #expect(try await outbox.outboxTotals(at: now).nextAttempt == later)
        withExtendedLifetime(folder) {}
    }
}

/// A database in a folder of its own that goes away with the value.
private final class TemporaryStore {
    let store: SQLiteStore
    private let folder: URL
    private let path: String

    init() throws {
        folder = FileManager.default.temporaryDirectory
            .appending(path: "trueup-outbox-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.appending(path: "trueup.sqlite").path
        try SQLiteStore.create(at: path)
        store = try SQLiteStore.open(at: path, access: .readWrite)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func hold(_ subscriptions: [String], at now: Timestamp) throws {
        let service = try DatabaseQueue(path: path)
        try service.write { db in
            for (index, id) in subscriptions.enumerated() {
                try db.execute(
                    sql: """
                        INSERT INTO trueup_outbox (
                            ledger_entry, idempotency_key, event, bundle_id, environment,
                            original_transaction_id, body, next_attempt_at)
                        VALUES (?, ?, 'renewal', 'app', 'Production', ?, ?, ?)
                        """,
                    arguments: [
                        index + 1, "key \(index + 1)", id, "{\"ledger_entry\":\(index + 1)}",
                        now.unixMilliseconds,
                    ])
            }
        }
        try service.close()
    }
}
