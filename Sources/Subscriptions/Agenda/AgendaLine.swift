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

/// How a night's questions are found among all rows.
package struct ScheduleRequest: Hashable, Sendable {
    package var now: Timestamp
    /// Apple's word about a row that entitles or is in billing retry must not get older.
    package var sweepMilliseconds: Int64
    /// The same for ended rows.
    package var sweepEndedMilliseconds: Int64
    package var sample: SampleSize
    /// What the sample is drawn by; the report states it.
    package var seed: UInt64

    package init(
        now: Timestamp, sweepMilliseconds: Int64, sweepEndedMilliseconds: Int64,
        sample: SampleSize, seed: UInt64
    ) {
        self.now = now
        self.sweepMilliseconds = sweepMilliseconds
        self.sweepEndedMilliseconds = sweepEndedMilliseconds
        self.sample = sample
        self.seed = seed
    }

    /// How old a word may get.
    package func allowedAge(isLasting: Bool) -> Int64 {
        isLasting ? sweepMilliseconds : sweepEndedMilliseconds
    }
}

/// How many quiet rows are asked about at random.
package enum SampleSize: Hashable, Sendable {
    case rows(Int)
    /// Below 1.
    case share(Double)
}

/// The place of a row in a sweep: the oldest word first.
package struct SweepPlace: Hashable, Comparable, Sendable {
    package var asOf: Timestamp
    package var key: SubscriptionKey

    package init(asOf: Timestamp, key: SubscriptionKey) {
        self.asOf = asOf
        self.key = key
    }

    package static func < (left: SweepPlace, right: SweepPlace) -> Bool {
        (left.asOf, left.key) < (right.asOf, right.key)
    }
}

/// The last rows that tonight's sweep takes.
package struct SweepEnds: Hashable, Sendable {
    /// Of those that entitle or are in billing retry; `nil` for none.
    package var lasting: SweepPlace?
    /// Of the ended ones.
    package var ended: SweepPlace?

    package init(lasting: SweepPlace? = nil, ended: SweepPlace? = nil) {
        self.lasting = lasting
        self.ended = ended
    }
}

/// What the schedule found.
package struct ScheduleCounts: Hashable, Sendable {
    /// Rows in the table.
    package var rows = 0
    /// Rows that no reason names; the sample is drawn from them and part of them.
    package var quiet = 0
    /// Questions by reason, the durable ones left out.
    package var due: [QuestionReason: Int] = [:]
    /// When the oldest word was signed, over all judged rows.
    package var oldestCheck: Timestamp?
    package var seed: UInt64 = 0

    package init() {}
}

/// What a run covered, and what it left: a part of its conclusion.
package struct RunCoverage: Hashable, Sendable, Codable {
    package enum Kind: String, Hashable, Sendable, Codable { case delta, full }

    package var kind: Kind
    /// Rows in the table when the questions were found; `nil` where they were not counted.
    package var rows: Int?
    /// Rows that no reason named.
    package var quiet: Int?
    /// Rows that were judged by an answer of Apple's or left undecided by one, by reason.
    package var asked: [QuestionReason: Int] = [:]
    /// Rows that a notification's own signed statement settled, without a call.
    package var settledByNotification = 0
    /// Questions that were not asked, by reason.
    package var left: [QuestionReason: Int] = [:]
    package var oldestCheck: Timestamp?
    package var sample: Sample?

    package struct Sample: Hashable, Sendable, Codable {
        package var drawn: Int
        /// Drawn rows that differ, or could not be judged.
        package var differing: Int
        /// The largest number of differing rows among the quiet ones that is compatible with that.
        package var bound: Int
        package var seed: UInt64

        package init(drawn: Int, differing: Int, bound: Int, seed: UInt64) {
            self.drawn = drawn
            self.differing = differing
            self.bound = bound
            self.seed = seed
        }
    }

    package init(kind: Kind) { self.kind = kind }
}

/// Which lines of the agenda.
package enum AgendaPart: Hashable, Sendable {
    /// What is owed whoever asks, and what this pass's notifications owe.
    case owed
    /// What the pass found to be due among the rows.
    case due
}
