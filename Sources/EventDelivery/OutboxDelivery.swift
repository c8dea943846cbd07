package import SubscriptionStore
package import Subscriptions

/// Delivers the events that are due, for a bounded time.
///
/// At least once: an event counts as delivered only after the receiver accepted it, and a process
/// that is killed in between delivers it again, under the same idempotency key. The events of one
/// subscription are delivered one after the other, in the ledger's order.
package struct OutboxDelivery: Sendable {
    private let outbox: SQLiteStore
    private let destination: any EventDestination
    private let budget: Duration
    private let now: @Sendable () -> Timestamp
    private let isStopped: @Sendable () -> Bool

    /// Failed attempts in a row after which no more are made: one event may be at
    /// fault by itself, several are not.
    static let toleratedFailuresInARow = 3

    /// - Parameters:
    ///   - outbox: the store that holds what waits.
    ///   - destination: the receiver.
    ///   - budget: no attempt begins that could take longer than this in all.
    ///   - now: the clock by which attempts are due.
    ///   - isStopped: looked at before every attempt.
    package init(
        outbox: SQLiteStore, destination: any EventDestination, budget: Duration,
        now: @escaping @Sendable () -> Timestamp,
        isStopped: @escaping @Sendable () -> Bool = { false }
    ) {
        self.outbox = outbox
        self.destination = destination
        self.budget = budget
        self.now = now
        self.isStopped = isStopped
    }

    package func run() async throws(StoreError) -> DeliverySummary {
        var summary = DeliverySummary()
        let lastStart = ContinuousClock.now + budget - destination.timeout
        var failuresInARow = 0
        while true {
            let batch = try await outbox.dueEvents(at: now(), limit: destination.concurrency)
            guard !batch.isEmpty else { break }
            guard !isStopped() else {
                summary.end = .stopped
                break
            }
            guard ContinuousClock.now <= lastStart else {
                summary.end = .timeIsUp
                break
            }
            let attempts = try await deliver(batch)
            summary.add(attempts)
            let failures = attempts.count { $0 != .told }
            failuresInARow = failures == attempts.count ? failuresInARow + failures : 0
            if failuresInARow >= Self.toleratedFailuresInARow {
                summary.end = .receiverFails
                try await rest(after: attempts)
                break
            }
        }
        summary.ended = now()
        summary.totals = try await outbox.outboxTotals(at: summary.ended)
        return summary
    }

    /// Makes no further attempt until the first of the failed events is due again.
    private func rest(after attempts: [TellingResult]) async throws(StoreError) {
        let moments = attempts.compactMap { attempt -> Timestamp? in
            guard case .failed(_, let next) = attempt else { return nil }
            return next
        }
        if let first = moments.min() { try await outbox.postpone(until: first) }
    }

    /// Delivers events of different subscriptions at once, and records each result as it comes.
    private func deliver(_ batch: [OutboxEvent]) async throws(StoreError) -> [TellingResult] {
        let results = await withTaskGroup(of: Result<TellingResult, StoreError>.self) { group in
            for event in batch {
                group.addTask {
                    do throws(StoreError) {
                        return .success(try await attempt(event))
                    } catch {
                        return .failure(error)
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        var attempts: [TellingResult] = []
        for result in results { attempts.append(try result.get()) }
        return attempts
    }

    private func attempt(_ event: OutboxEvent) async throws(StoreError) -> TellingResult {
        let answer = await destination.deliver(event)
        let moment = now()
        let result: TellingResult
        switch answer {
        case .accepted: result = .told
        case .failed(let reason, let retryAfter):
            result = .failed(
                reason,
                nextAttempt: RetrySchedule.nextAttempt(
                    afterFailures: event.attempts + 1, at: moment, retryAfter: retryAfter))
        }
        try await outbox.record(result, of: event, at: moment)
        return result
    }
}

extension DeliverySummary {
    fileprivate mutating func add(_ attempts: [TellingResult]) {
        for attempt in attempts {
            switch attempt {
            case .told: told += 1
            case .failed(_, let next):
                failed += 1
                if next == nil { gaveUp += 1 }
            }
        }
    }
}
