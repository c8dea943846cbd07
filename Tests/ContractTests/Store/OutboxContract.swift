import StoreSupport
import SubscriptionStore
import Subscriptions
import Testing

/// The promises of the store about events that wait for delivery.
@Suite struct `The contract of the outbox` {
    private let now = Timestamp(unixMilliseconds: 1_790_000_000_000)

    /// An outbox that holds an event of each of these subscriptions, in the ledger's order.
    private func outbox(
        _ store: BooksPlace, _ subscriptions: [String]
    ) throws -> (outbox: SQLiteStore, place: SQLitePlace) {
        let place = try store.place()
        try place.service.hold(eventsOf: subscriptions, at: now)
        return (place.store, place)
    }

    @Test(arguments: BooksPlace.allCases)
    func `an older event of a subscription holds back the newer ones`(
        store: BooksPlace
    ) async throws {
        let (outbox, place) = try outbox(store, ["a", "b", "a"])
        let due = try await outbox.dueEvents(at: now, limit: 9)
        #expect(due.map(\.ledgerEntry) == [1, 2])
        let first = try #require(due.first)
        try await outbox.record(.delivered, of: first, at: now)
        #expect(try await outbox.dueEvents(at: now, limit: 9).map(\.ledgerEntry) == [2, 3])
        #expect(try await outbox.dueEvents(at: now, limit: 1).map(\.ledgerEntry) == [2])
        withExtendedLifetime(place) {}
    }

    @Test(arguments: BooksPlace.allCases)
    func `what failed waits for its next attempt and comes last`(
        store: BooksPlace
    ) async throws {
        let (outbox, place) = try outbox(store, ["a", "b"])
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
        withExtendedLifetime(place) {}
    }

    @Test(arguments: BooksPlace.allCases)
    func `what was given up waits no more, until it is tried again`(
        store: BooksPlace
    ) async throws {
        let (outbox, place) = try outbox(store, ["a", "b"])
        let first = try #require(try await outbox.dueEvents(at: now, limit: 1).first)
        try await outbox.record(.failed("answered 410", nextAttempt: nil), of: first, at: now)
        let totals = try await outbox.outboxTotals(at: now)
        #expect((totals.delivered, totals.waiting, totals.givenUp) == (0, 1, 1))
        #expect(try await outbox.dueEvents(at: now, limit: 9).map(\.ledgerEntry) == [2])
        #expect(try await outbox.retryGivenUp(at: now) == 1)
        let due = try await outbox.dueEvents(at: now, limit: 9)
        #expect(due.map(\.ledgerEntry) == [1, 2])
        #expect(due.first?.attempts == 0)
        #expect(try await outbox.retryGivenUp(at: now) == 0)
        withExtendedLifetime(place) {}
    }

    @Test(arguments: BooksPlace.allCases)
    func `nothing is due before the receiver is well again`(store: BooksPlace) async throws {
        let (outbox, place) = try outbox(store, ["a", "b"])
        let later = now.adding(milliseconds: 5000)
        try await outbox.postpone(until: later)
        #expect(try await outbox.dueEvents(at: now, limit: 9).isEmpty)
        #expect(try await outbox.outboxTotals(at: now).nextAttempt == later)
        #expect(try await outbox.dueEvents(at: later, limit: 9).map(\.ledgerEntry) == [1, 2])
        // It never brings anything forward.
        try await outbox.postpone(until: now)
        #expect(try await outbox.dueEvents(at: now, limit: 9).isEmpty)
        withExtendedLifetime(place) {}
    }

    @Test(arguments: BooksPlace.allCases)
    func `what failed under a wrong clock is due once the clock is right`(
        store: BooksPlace
    ) async throws {
        let (outbox, place) = try outbox(store, ["a", "b", "a"])
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
        withExtendedLifetime(place) {}
    }

    @Test(arguments: BooksPlace.allCases)
    func `the next attempt is of an event that no older one holds back`(
        store: BooksPlace
    ) async throws {
        let (outbox, place) = try outbox(store, ["a", "a"])
        let first = try #require(try await outbox.dueEvents(at: now, limit: 1).first)
        let later = now.adding(milliseconds: 300_000)
        try await outbox.record(.failed("answered 500", nextAttempt: later), of: first, at: now)
        #expect(try await outbox.outboxTotals(at: now).nextAttempt == later)
        withExtendedLifetime(place) {}
    }
}
