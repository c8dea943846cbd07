package import Reconciliation
package import Subscriptions

/// A job file as the run understands it, with every default filled in.
package struct ReconciliationJob: Hashable, Sendable {
    package enum Step: String, Hashable, Sendable, CaseIterable {
        case recover, walk
    }

    package var name: String
    /// Where its corrections come from.
    package var planSource = PlanSource.judgement
    package var steps: [Step]
    package var mode: RunMode
    /// Which rows are checked.
    package var coverage = Coverage.full
    /// In how many days each customer's refunds are read once; `nil` where they are not.
    package var refundSweepDays: Int?
    /// The lowest unresolved severity that makes the run end with `findings`; `nil` for none.
    package var failOn: Severity?
    /// Whether only findings count for `failOn` that no earlier run has reported as open.
    package var failsOnNewAlone = false
    package var maxDurationMilliseconds: Int64
    /// `now` in it is set again for each judgement.
    package var policy: Policy
    package var guards: GuardLimits
    package var recover: RecoverSettings
    package var filters: RunFilters
    /// Guards that are lifted for this run alone, and why.
    package var liftedGuards: [GuardName: String] = [:]
    /// How many subscriptions are corrected and asked about again before the others; `nil` for
    /// none.
    package var canary: Int?
    /// The command line that started it, for the commands that its messages name; `nil` where there
    /// was none.
    package var commands: RunCommands?
    /// The calls that it is expected to need; `nil` where they were not counted.
    package var forecast: CallForecast?
    /// The obstacle that kept the company's table from being read whole; the run ends with it, and
    /// is reported.
    package var obstacle: RunEnd?
    /// Further remarks for the person on call.
    package var remarks: [String] = []

    package init(
        name: String, steps: [Step], mode: RunMode, failOn: Severity?,
        maxDurationMilliseconds: Int64, policy: Policy, guards: GuardLimits,
        recover: RecoverSettings, filters: RunFilters = RunFilters()
    ) {
        self.name = name
        self.steps = steps
        self.mode = mode
        self.failOn = failOn
        self.maxDurationMilliseconds = maxDurationMilliseconds
        self.policy = policy
        self.guards = guards
        self.recover = recover
        self.filters = filters
    }
}

/// Where the corrections of a run come from.
package enum PlanSource: Hashable, Sendable {
    /// The questions that it asks Apple and checks itself.
    case judgement
    /// The plan of an earlier run, by its identity.
    case plan(String)
    /// The inverse of an earlier run's corrections.
    case undo(ofRun: String)
}

/// How much of Apple's notification history a run reads again.
package struct RecoverSettings: Hashable, Sendable {
    /// Read again behind the watermark: Apple retries for about six and a half days.
    package var overlapMilliseconds: Int64
    /// How far back the very first run reads.
    package var lookbackMilliseconds: Int64
    /// Whether received notifications are imported; without that none can be called lost.
    package var inboxIsKept: Bool

    package init(
        overlapMilliseconds: Int64, lookbackMilliseconds: Int64, inboxIsKept: Bool
    ) {
        self.overlapMilliseconds = overlapMilliseconds
        self.lookbackMilliseconds = lookbackMilliseconds
        self.inboxIsKept = inboxIsKept
    }
}

/// The part of the rows that a run was told to look at.
package struct RunFilters: Hashable, Sendable {
    /// Only these original transaction ids; `nil` for all.
    package var ids: Set<String>?
    /// At most this many rows.
    package var limit: Int?
    /// Only the rows that fall into one of several equal parts.
    package var shard: Shard?
    /// Only the rows, notifications and questions of these apps; `nil` for all.
    package var apps: Set<AppIdentity>?

    package struct Shard: Hashable, Sendable {
        /// From 1.
        package var number: Int
        package var count: Int

        package init(number: Int, count: Int) {
            self.number = number
            self.count = count
        }
    }

    package init(
        ids: Set<String>? = nil, limit: Int? = nil, shard: Shard? = nil,
        apps: Set<AppIdentity>? = nil
    ) {
        self.ids = ids
        self.limit = limit
        self.shard = shard
        self.apps = apps
    }

    package var isPartial: Bool { leavesOutRows || apps != nil }

    /// Whether it leaves out rows of an app that it includes: a part of the rows says nothing about
    /// a whole notification history.
    package var leavesOutRows: Bool { ids != nil || limit != nil || shard != nil }

    /// Whether anything of an app is checked.
    package func includes(_ app: AppIdentity) -> Bool { apps?.contains(app) ?? true }

    /// Whether a row belongs to the part; the limit is counted by the walk.
    package func includes(_ key: SubscriptionKey) -> Bool {
        if let apps, !apps.contains(where: { $0.owns(key) }) { return false }
        if let ids, !ids.contains(key.originalTransactionID) { return false }
        guard let shard else { return true }
        return Self.bucket(of: key.originalTransactionID, count: shard.count) == shard.number - 1
    }

    /// FNV-1a over the id's bytes: the same on every machine and in every version, so that the
    /// parts of one run's run never overlap and leave nothing out.
    private static func bucket(of id: String, count: Int) -> Int {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in id.utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
        }
        return Int(hash % UInt64(max(1, count)))
    }
}

/// Which rows a job checks.
package enum Coverage: Hashable, Sendable {
    /// Every row.
    case full
    /// Rows for which there is a reason, a slow sweep, and a sample of the others (docs/delta.md).
    case delta(DeltaSettings)
}

/// How a job looks after the rows for which there is no reason to ask.
package struct DeltaSettings: Hashable, Sendable {
    package var sweepMilliseconds: Int64
    package var sweepEndedMilliseconds: Int64
    package var sample: SampleSize

    package init(sweepMilliseconds: Int64, sweepEndedMilliseconds: Int64, sample: SampleSize) {
        self.sweepMilliseconds = sweepMilliseconds
        self.sweepEndedMilliseconds = sweepEndedMilliseconds
        self.sample = sample
    }
}

/// Every bound of a run that is not a setting, in one place.
package enum RunLimits {
    /// Rows that are asked and staged together; a killed run loses at most their calls.
    package static let rowsPerPage = 256
    /// Questions in flight at once, enough for Apple's 50 a second when an answer takes two
    /// seconds; the pacing decides how fast they may be sent.
    package static let concurrentInquiries = 100
    /// How much is stored in one transaction: this much keeps the lock for about 15 ms, while a
    /// page of first fills with six periods each kept it for 60.
    package static let writesPerStage = 800
    /// How long what was checked may wait to be staged.
    package static let longestUnstaged = Duration.seconds(1)
    /// Findings whose causes are looked for and stored together.
    package static let findingsPerPage = 500
    /// Corrections written in one transaction, so that others never wait long for the database.
    package static let correctionsPerTransaction = 100
    /// Undecodable answers in a row that end the run (docs/exit-statuses.md, 76).
    package static let undecodableInARow = 5
    /// Further questions about one case after its status call; there are at most four kinds.
    package static let furtherQuestionsPerCase = 5
    /// Rows asked once more at the end because revocation was not learned the first time.
    package static let undeterminedAskedAgain = 1_000
    /// Stored one-time purchases of one customer that are compared with a history.
    package static let purchasesPerCustomer = 1_000
    /// Ids of stored purchases by which a customer's purchases are asked for, until Apple finds one.
    package static let idsPerCustomer = 5
    /// Pages of one customer's history (20 transactions each).
    package static let historyPagesPerCustomer = 2_000
    /// Pages of one sweep through the notification history (20 notifications each).
    package static let notificationPagesPerSweep = 500_000
    /// How often a sweep starts again because its page token ended.
    package static let notificationSweepRestarts = 3
    /// Apple keeps notifications this long, less a margin for its clock and trueup's.
    package static let notificationDaysProduction: Int64 = 180
    package static let notificationDaysSandbox: Int64 = 30
    package static let notificationMarginMilliseconds: Int64 = 10 * 60 * 1000
    /// How long a watermark waits for entries of a history that do not verify.
    package static let unverifiedHistoryDays: Int64 = 14
}
