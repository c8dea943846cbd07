package import Subscriptions

/// What one delivery came to.
package struct DeliverySummary: Hashable, Sendable {
    /// Why it ended.
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
    package var told = 0
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
        let all = told + totals.waiting + gaveUp
        if told > 0 { parts.append("told \(told) of \(Self.events(all))") }
        if totals.waiting > 0 {
            parts.append(
                (told > 0 ? "\(totals.waiting)" : Self.events(totals.waiting))
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
        case .timeIsUp: "the time for telling is used up"
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
        guard moment > now else { return "the next run goes on" }
        let text = moment.adding(milliseconds: 59_999).rfc3339
        let time = String(text.dropFirst(11).prefix(5))
        let isToday = text.prefix(10) == now.utcDay
        return "next attempt after " + (isToday ? "" : text.prefix(10) + " ") + time + " UTC"
    }
}
