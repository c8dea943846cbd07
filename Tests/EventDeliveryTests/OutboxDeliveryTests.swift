import EventDelivery
import Foundation
import StoreSupport
import SubscriptionStore
import Subscriptions
import Synchronization
import TestSupport
import Testing

@Suite struct `A delivery of what waits` {
    /// Events that wait, in a database of their own.
    private struct Outbox {
        private let folder: TemporaryFolder
        let store: SQLiteStore

        /// Takes the subscription of each event, in the ledger's order.
        init(_ subscriptions: [String], at now: Timestamp) throws {
            folder = try TemporaryFolder()
            let path = folder.url.appending(path: "trueup.sqlite").path
            try BlankDatabase.write(to: path)
            store = try SQLiteStore.open(at: path, access: .readWrite)
            try CompanyService(at: path).hold(eventsOf: subscriptions, at: now)
        }

        /// How many events were never tried, where no subscription has two.
        func untried() async throws -> Int {
            let later = start.adding(milliseconds: 3_600_000)
            return try await store.dueEvents(at: later, limit: 99).count { $0.attempts == 0 }
        }
    }

    private static let start = Timestamp(unixMilliseconds: 1_795_000_000_000)

    private func round(
        _ outbox: Outbox, _ destination: ScriptedDestination, minutes: Int64 = 0,
        budget: Duration = .seconds(86_400)
    ) async throws -> DeliverySummary {
        let now = Self.start.adding(milliseconds: minutes * 60_000)
        return try await OutboxDelivery(
            outbox: outbox.store, destination: destination, budget: budget, now: { now }
        ).run()
    }

    @Test(arguments: [1, 4])
    func `tells everything once, each subscription in order`(concurrency: Int) async throws {
        let subscriptions = (0..<40).map { "\($0 % 7)" }
        let outbox = try Outbox(subscriptions, at: Self.start)
        let destination = ScriptedDestination(concurrency: concurrency) { _ in .accepted }
        let summary = try await round(outbox, destination)
        #expect(summary.delivered == 40)
        #expect(!summary.isIncomplete)
        #expect(destination.arrived.sorted() == Array(1...40))
        for subscription in 0..<7 {
            let own = destination.arrived.filter { Int($0 - 1) % 7 == subscription }
            #expect(own == own.sorted())
        }
        #expect(try await round(outbox, destination).delivered == 0)
        #expect(destination.arrived.count == 40)
    }

    @Test func `tries one event at 0, 5, 15, 35, 75 and 155 minutes, and then gives it up`()
        async throws
    {
        let outbox = try Outbox(["a"], at: Self.start)
        let destination = ScriptedDestination { _ in .failed("answered 500") }
        var tried: [Int64] = []
        var gaveUp = 0
        for minute in Int64(0)...400 {
            let before = destination.arrived.count
            gaveUp += try await round(outbox, destination, minutes: minute).gaveUp
            if destination.arrived.count > before { tried.append(minute) }
        }
        #expect(tried == [0, 5, 15, 35, 75, 155])
        #expect(gaveUp == 1)
        let totals = try await outbox.store.outboxTotals(at: Self.start)
        #expect(totals.givenUp == 1)
        #expect(totals.lastError == "answered 500")
    }

    @Test func `holds a newer event back while an older one of its subscription fails`()
        async throws
    {
        let outbox = try Outbox(["a", "b", "a", "c"], at: Self.start)
        let destination = ScriptedDestination { event in
            event.ledgerEntry == 1 && event.attempts == 0 ? .failed("busy") : .accepted
        }
        let first = try await round(outbox, destination)
        #expect(destination.arrived == [1, 2, 4])
        #expect(first.delivered == 2)
        #expect(first.failed == 1)
        #expect(first.isIncomplete)
        _ = try await round(outbox, destination, minutes: 5)
        #expect(destination.arrived == [1, 2, 4, 1, 3])
    }

    @Test func `leaves a receiver alone that fails again and again, and charges few for it`()
        async throws
    {
        let outbox = try Outbox((1...50).map { "\($0)" }, at: Self.start)
        let isWell = Atomic(false)
        let destination = ScriptedDestination { _ in
            isWell.load(ordering: .relaxed) ? .accepted : .failed("no connection")
        }
        let down = try await round(outbox, destination)
        #expect(down.end == .receiverFails)
        #expect(destination.arrived.count == 3)
        #expect(try await outbox.untried() == 47)
        // All of them rest as long as the first that failed.
        #expect(try await round(outbox, destination, minutes: 4).failed == 0)
        #expect(destination.arrived.count == 3)
        isWell.store(true, ordering: .relaxed)
        #expect(try await round(outbox, destination, minutes: 5).delivered == 50)
    }

    /// A command takes one event at a time, and the last of the failed ones waits longest.
    @Test func `rests until the first of all that failed in a row is due`() async throws {
        let outbox = try Outbox(["a", "b", "c", "d"], at: Self.start)
        let destination = ScriptedDestination { event in
            .failed("busy", retryAfter: event.ledgerEntry == 3 ? .seconds(3600) : nil)
        }
        let summary = try await round(outbox, destination)
        #expect(summary.end == .receiverFails)
        #expect(destination.arrived == [1, 2, 3])
        #expect(summary.totals.nextAttempt == Self.start.adding(milliseconds: 5 * 60_000))
    }

    @Test func `is not stopped by single events that fail`() async throws {
        let outbox = try Outbox((1...30).map { "\($0)" }, at: Self.start)
        let destination = ScriptedDestination { event in
            event.ledgerEntry % 3 == 0 ? .failed("answered 422") : .accepted
        }
        let summary = try await round(outbox, destination)
        #expect(summary.delivered == 20)
        #expect(summary.failed == 10)
        #expect(summary.end == .nothingDue)
    }

    @Test func `begins nothing that could end after its time`() async throws {
        let outbox = try Outbox(["a", "b"], at: Self.start)
        let destination = ScriptedDestination(timeout: .seconds(10)) { _ in .accepted }
        let summary = try await round(outbox, destination, budget: .seconds(9))
        #expect(summary.end == .timeIsUp)
        #expect(summary.isIncomplete)
        #expect(destination.arrived.isEmpty)
        #expect(try await outbox.untried() == 2)
    }

    /// A receiver that accepts the first event, and never answers for another.
    private struct Hanging: EventDestination {
        let timeout = Duration.seconds(1)
        let concurrency = 1
        let hangs = AsyncStream<Void>.makeStream()

        func deliver(_ event: OutboxEvent) async -> DeliveryAnswer {
            if event.ledgerEntry == 1 { return .accepted }
            hangs.continuation.yield()
            try? await Task.sleep(for: .seconds(600))
            return .failed("no answer")
        }
    }

    @Test func `ends in the middle of an attempt when it is cancelled, and counts no failure`()
        async throws
    {
        let outbox = try Outbox(["a", "b", "c"], at: Self.start)
        let destination = Hanging()
        let delivery = OutboxDelivery(
            outbox: outbox.store, destination: destination, budget: .seconds(60),
            now: { Self.start })
        let running = Task { try await delivery.run() }
        for await _ in destination.hangs.stream { break }
        running.cancel()
        let summary = try await running.value
        #expect(summary.end == .stopped)
        #expect((summary.delivered, summary.failed) == (1, 0))
        #expect(try await outbox.untried() == 2)
    }
}

@Suite struct `What a delivery says` {
    private static let now = Timestamp(unixMilliseconds: 1_795_000_000_000)

    private func sentence(_ change: (inout DeliverySummary) -> Void) -> String? {
        var summary = DeliverySummary()
        summary.ended = Self.now
        change(&summary)
        return summary.sentence
    }

    @Test func `is nothing where there is nothing`() {
        #expect(sentence { $0.totals.delivered = 900 } == nil)
    }

    @Test func `counts what was told`() {
        #expect(sentence { $0.delivered = 59 } == "delivered 59 of 59 events")
        #expect(sentence { $0.delivered = 1 } == "delivered 1 of 1 event")
    }

    @Test func `says what waits, why, and until when`() {
        let text = sentence {
            $0.delivered = 47
            $0.failed = 3
            $0.end = .receiverFails
            $0.totals.waiting = 12
            $0.totals.lastError = "no connection to 127.0.0.1:9"
            $0.totals.nextAttempt = Self.now.adding(milliseconds: 300_000)
        }
        // 2026-11-18T11:06:40Z and five minutes, rounded up.
        #expect(
            text == "delivered 47 of 59 events; 12 wait: no connection to 127.0.0.1:9; "
                + "next attempt after 11:12 UTC")
    }

    @Test func `names the day of an attempt that is not today, and what was given up`() {
        let text = sentence {
            $0.totals.waiting = 1
            $0.totals.lastError = "busy"
            $0.totals.nextAttempt = Self.now.adding(milliseconds: 86_400_000)
            $0.totals.givenUp = 2
        }
        #expect(
            text == "1 event waits: busy; next attempt after 2026-11-19 11:07 UTC; "
                + "2 given up after 6 attempts; \"trueup tell --retry-given-up\" tries again")
    }
}
