/// How a night's questions are found among all rows.
package struct ScheduleRequest: Hashable, Sendable {
    package var now: Timestamp
    /// How old Apple's statement about a row that entitles or is in billing retry may get.
    package var sweepMilliseconds: Int64
    /// The same for ended rows.
    package var sweepEndedMilliseconds: Int64
    package var sample: SampleSize
    /// What the sample is drawn by; the report states it.
    package var seed: UInt64
    /// Only rows of these apps; `nil` for all.
    package var apps: Set<AppIdentity>?
    /// Whether the run may read histories: only then is a row asked about again because its stored
    /// periods have changed.
    package var readsHistories = true

    package init(
        now: Timestamp, sweepMilliseconds: Int64, sweepEndedMilliseconds: Int64,
        sample: SampleSize, seed: UInt64, apps: Set<AppIdentity>? = nil
    ) {
        self.now = now
        self.sweepMilliseconds = sweepMilliseconds
        self.sweepEndedMilliseconds = sweepEndedMilliseconds
        self.sample = sample
        self.seed = seed
        self.apps = apps
    }

    /// Whether a row is of one of the apps.
    package func includes(_ key: SubscriptionKey) -> Bool {
        apps.map { $0.contains { $0.owns(key) } } ?? true
    }

    /// How old Apple's statement about a row may get.
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

/// The place of a row in a sweep: the one with the oldest statement comes first.
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
    /// Rows in the table, or of the apps that were named.
    package var rows = 0
    /// Rows that no reason names; the sample is drawn from them and part of them.
    package var quiet = 0
    /// Questions by reason, the durable ones left out.
    package var due: [QuestionReason: Int] = [:]
    /// When the oldest of the last statements about all judged rows was signed.
    package var oldestCheck: Timestamp?
    package var seed: UInt64 = 0

    package init() {}
}
