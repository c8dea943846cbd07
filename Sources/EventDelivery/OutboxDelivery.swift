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

    /// Failed attempts in a row after which no more are made: one event may be at
    /// fault by itself, several are not.
    static let toleratedFailuresInARow = 3

    /// - Parameters:
    ///   - outbox: the store that holds what waits.
    ///   - destination: the receiver.
    ///   - budget: no attempt begins that could take longer than this in all.
    ///   - now: the clock by which attempts are due.
    package init(
        outbox: SQLiteStore, destination: any EventDestination, budget: Duration,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.outbox = outbox
        self.destination = destination
        self.budget = budget
        self.now = now
    }

    /// Delivers until nothing is due, the time is up, or the task is cancelled.
    ///
    /// - Returns: How it ended, and what waits.
    /// - Throws: What the outbox throws.
    package func run() async throws(StoreError) -> DeliverySummary {
        var summary = DeliverySummary()
        let lastStart = ContinuousClock.now + budget - destination.timeout
        var failuresInARow: [DeliveryOutcome] = []
        while true {
            let batch = try await outbox.dueEvents(at: now(), limit: destination.concurrency)
            guard !batch.isEmpty else { break }
            guard !Task.isCancelled else {
                summary.end = .stopped
                break
            }
            guard ContinuousClock.now <= lastStart else {
                summary.end = .timeIsUp
                break
            }
            let attempts = try await deliver(batch)
            summary.add(attempts)
            let failures = attempts.filter { $0 != .delivered }
            failuresInARow = failures.count == attempts.count ? failuresInARow + failures : []
            if failuresInARow.count >= Self.toleratedFailuresInARow {
                summary.end = .receiverFails
                try await rest(after: failuresInARow)
                break
            }
        }
        summary.ended = now()
        summary.totals = try await outbox.outboxTotals(at: summary.ended)
        return summary
    }

    /// Makes no further attempt until the first of the failed events is due again.
    private func rest(after attempts: [DeliveryOutcome]) async throws(StoreError) {
        let moments = attempts.compactMap { attempt -> Timestamp? in
            guard case .failed(_, let next) = attempt else { return nil }
            return next
        }
        if let first = moments.min() { try await outbox.postpone(until: first) }
    }

    /// Delivers events of different subscriptions at once, and records each result as it comes.
    private func deliver(_ batch: [OutboxEvent]) async throws(StoreError) -> [DeliveryOutcome] {
        let results = await withTaskGroup(of: Result<DeliveryOutcome?, StoreError>.self) { group in
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
        var attempts: [DeliveryOutcome] = []
        for result in results {
            if let attempt = try result.get() { attempts.append(attempt) }
        }
        return attempts
    }

    /// Makes one attempt, and records how it ended; `nil` where it was cancelled, which does not count as
    /// a failure of the receiver.
    private func attempt(_ event: OutboxEvent) async throws(StoreError) -> DeliveryOutcome? {
        let answer = await destination.deliver(event)
        if Task.isCancelled, answer != .accepted { return nil }
        let moment = now()
        let result: DeliveryOutcome
        switch answer {
        case .accepted: result = .delivered
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
    fileprivate mutating func add(_ attempts: [DeliveryOutcome]) {
        for attempt in attempts {
            switch attempt {
            case .delivered: delivered += 1
            case .failed(_, let next):
                failed += 1
                if next == nil { gaveUp += 1 }
            }
        }
    }
}

/// When an event is tried again: 5, 10, 20, 40 and 80 minutes after the first failures; the sixth
/// failure is the last.
///
/// Nothing waits for these times: the first run after one of them tries.
package enum RetrySchedule {
    package static let delaysMinutes: [Int64] = [5, 10, 20, 40, 80]

    package static var maximumAttempts: Int { delaysMinutes.count + 1 }

    /// - Parameters:
    ///   - failures: how often the event has failed, this time included.
    ///   - now: when it failed.
    ///   - retryAfter: what the receiver asked for; it can only make the wait longer.
    /// - Returns: the moment from which it is due again; `nil` when it is given up.
    package static func nextAttempt(
        afterFailures failures: Int, at now: Timestamp, retryAfter: Duration? = nil
    ) -> Timestamp? {
        guard failures >= 1, failures <= delaysMinutes.count else { return nil }
        let scheduled = delaysMinutes[failures - 1] * 60_000
        let asked = retryAfter.map { Int64($0 / .milliseconds(1)) } ?? 0
        return now.adding(milliseconds: max(scheduled, asked))
    }
}

/// Where events are delivered: one receiver of the company's.
package protocol EventDestination: Sendable {
    /// How long one attempt may take at most.
    var timeout: Duration { get }
    /// How many events, each of another subscription, may be delivered at once.
    var concurrency: Int { get }

    /// Makes one attempt to deliver an event; it never takes much longer than `timeout`, and ends
    /// within seconds where the task is cancelled.
    func deliver(_ event: OutboxEvent) async -> DeliveryAnswer
}

/// How one attempt ended.
package enum DeliveryAnswer: Hashable, Sendable {
    /// The receiver accepted it.
    case accepted
    /// Not delivered: the reason in a few words without secrets, and how long the receiver asked to
    /// be left alone, if it did.
    case failed(String, retryAfter: Duration? = nil)
}

/// The result of one delivery.
package struct DeliverySummary: Hashable, Sendable {
    /// The reason why a delivery ended.
    package enum End: Hashable, Sendable {
        /// Nothing more was due.
        case nothingDue
        /// Several attempts in a row failed: the receiver does not work.
        case receiverFails
        /// The budget of time was used up.
        case timeIsUp
        case stopped
    }

    package var end = End.nothingDue
    /// Events delivered, and attempts that failed, this time.
    package var delivered = 0
    package var failed = 0
    /// Events given up this time.
    package var gaveUp = 0
    /// Everything in the outbox afterwards.
    package var totals = OutboxTotals()
    /// When it ended.
    package var ended = Timestamp(unixMilliseconds: 0)

    package init() {}

    /// Whether something that was due is not delivered yet.
    package var isIncomplete: Bool { failed > 0 || end != .nothingDue }

    /// One line for people; `nil` when nothing was delivered and nothing waits.
    package var sentence: String? {
        var parts: [String] = []
        let all = delivered + totals.waiting + gaveUp
        if delivered > 0 { parts.append("delivered \(delivered) of \(Self.events(all))") }
        if totals.waiting > 0 {
            parts.append(
                (delivered > 0 ? "\(totals.waiting)" : Self.events(totals.waiting))
                    + (totals.waiting == 1 ? " waits: " : " wait: ") + whyWaiting)
            if let next = totals.nextAttempt { parts.append(Self.next(next, at: ended)) }
        }
        if totals.givenUp > 0 {
            parts.append(
                (parts.isEmpty ? Self.events(totals.givenUp) : "\(totals.givenUp)")
                    + " given up after \(RetrySchedule.maximumAttempts) attempts"
                    + (totals.waiting == 0 ? Self.reason(totals.lastError) : "")
                    + "; \"trueup tell --retry-given-up\" tries again")
        }
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }

    private var whyWaiting: String {
        switch end {
        case .timeIsUp: "the time for deliveries is used up"
        case .stopped: "stopped"
        case .nothingDue, .receiverFails: totals.lastError ?? "not due yet"
        }
    }

    private static func reason(_ error: String?) -> String { error.map { " (\($0))" } ?? "" }

    private static func events(_ count: Int) -> String {
        "\(count) event" + (count == 1 ? "" : "s")
    }

    /// In whole minutes, rounded up, so that what it says is never too early.
    private static func next(_ moment: Timestamp, at now: Timestamp) -> String {
        guard moment > now else { return "the next run continues" }
        let text = moment.adding(milliseconds: 59_999).rfc3339
        let time = String(text.dropFirst(11).prefix(5))
        let isToday = text.prefix(10) == now.utcDay
        return "next attempt after " + (isToday ? "" : text.prefix(10) + " ") + time + " UTC"
    }
}
