/// One question that is to be asked.
package struct AgendaLine: Hashable, Sendable {
    package var key: SubscriptionKey
    package var reason: QuestionReason
    /// Its place among the others: by reason, and within one by how much a customer may be harmed.
    package var turn: Int64

    package init(key: SubscriptionKey, reason: QuestionReason, turn: Int64) {
        self.key = key
        self.reason = reason
        self.turn = turn
    }

    /// The turn of a question; rows that give no access come first, for their customers may lack it.
    package static func turn(_ reason: QuestionReason, isEntitling: Bool) -> Int64 {
        switch reason {
        case .notification, .heldBack, .changed, .clock: reason.rank * 2 + (isEntitling ? 1 : 0)
        case .never, .sample, .sweep, .round: reason.rank * 2
        }
    }
}

/// Where the next lines of the agenda begin.
package struct AgendaPosition: Hashable, Sendable {
    package var turn: Int64
    package var key: SubscriptionKey

    package init(turn: Int64, key: SubscriptionKey) {
        self.turn = turn
        self.key = key
    }
}

/// A subscription that a notification named, as the agenda takes it up.
package struct OwedQuestion: Hashable, Sendable {
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

/// Which lines of the agenda.
package enum AgendaPart: Hashable, Sendable {
    /// What is owed whoever asks, and what this pass's notifications owe.
    case owed
    /// What the pass found to be due among the rows.
    case due
}
