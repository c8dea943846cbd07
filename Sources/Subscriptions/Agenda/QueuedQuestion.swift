/// One question that is to be asked.
package struct QueuedQuestion: Hashable, Sendable {
    package var key: SubscriptionKey
    package var reason: QuestionReason
    /// Its place among the others: by reason, and within one by how much a customer may be harmed.
    package var priority: Int64

    package init(key: SubscriptionKey, reason: QuestionReason, priority: Int64) {
        self.key = key
        self.reason = reason
        self.priority = priority
    }

    /// The priority of a question, lowest number first; rows that give no access come first, for
    /// their customers may lack it.
    package static func priority(_ reason: QuestionReason, isEntitling: Bool) -> Int64 {
        switch reason {
        case .notification, .heldBack, .changed, .clock: reason.rank * 2 + (isEntitling ? 1 : 0)
        case .never, .sample, .sweep, .round: reason.rank * 2
        }
    }
}

/// A question about a subscription that a notification named, to be added to the queue.
package struct NewQuestion: Hashable, Sendable {
    package var key: SubscriptionKey
    /// When Apple signed what the question rests on.
    package var restsOn: Timestamp
    /// Whether our row gives access.
    package var isEntitling: Bool

    package init(key: SubscriptionKey, restsOn: Timestamp, isEntitling: Bool) {
        self.key = key
        self.restsOn = restsOn
        self.isEntitling = isEntitling
    }
}

/// A part of the queue.
package enum QueuePart: Hashable, Sendable {
    /// Pending questions, and those that this checkpoint's notifications ask for.
    case pending
    /// Questions that the checkpoint found to be due among the rows.
    case due
}

/// The reason why Apple is asked about a subscription, the most urgent first (docs/delta.md).
package enum QuestionReason: String, Hashable, Sendable, CaseIterable, Codable,
    CodingKeyRepresentable
{
    /// Apple's notification history holds a newer signed statement that does not agree with the
    /// row, or says nothing of its state.
    case notification
    /// Checked before: its correction was not written, it is undecided, or its customer began or
    /// ceased to pay under another Apple Account since.
    case heldBack = "held_back"
    /// The row's compared values are not those that were checked last: another program wrote to it.
    case changed
    /// Apple's last statement has ended by itself: an expiry passed, a billing retry day came.
    case clock
    /// The row was never checked.
    case never
    /// Drawn at random among the rows that no other reason names.
    case sample
    /// Apple's last statement is about to be older than the job allows.
    case sweep
    /// Every row is checked.
    case round

    /// The order in which questions are asked; lower is earlier.
    package var rank: Int64 { Int64(Self.allCases.firstIndex(of: self) ?? 0) }

    package init?(rank: Int64) {
        guard let index = Int(exactly: rank), Self.allCases.indices.contains(index) else {
            return nil
        }
        self = Self.allCases[index]
    }

    /// Whether there is no sign that the row has changed: it is checked because its turn has come.
    package var isRoutine: Bool { self == .sample || self == .sweep }
}

extension SubscriptionExplanation {
    /// When, and why, Apple would be asked about the subscription again, as far as its records tell.
    ///
    /// It is what a job with delta coverage and the step walk does (docs/delta.md); full coverage asks
    /// about every row. Whom the sample draws, and when the sweep comes round, only the job's settings
    /// say.
    ///
    /// - Parameter now: The present.
    /// - Returns: The reason, `nil` where none names the row, so that only the sample or the sweep may take it;
    ///   and from when on, `nil` for the next run. `nil` where there is no row that a run would ask about.
    package func nextQuestion(
        at now: Timestamp
    ) -> (reason: QuestionReason?, from: Timestamp?)? {
        if let pending { return (pending.reason, nil) }
        guard row != nil else { return nil }
        guard let check else { return (.never, nil) }
        if wasWrittenSince { return (.changed, nil) }
        guard let clock = check.check.clock else { return (nil, nil) }
        return (.clock, clock > now ? clock : nil)
    }
}
