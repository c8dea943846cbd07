/// The facts about a run that are known when it begins.
package struct RunHeader: Hashable, Sendable {
    /// For example `20261120T031704Z-7f3c9a`.
    package var runID: String
    package var job: String
    package var mode: RunMode
    package var started: Timestamp
    package var apps: [AppIdentity]
    /// `user@host`, for the ledger.
    package var actor: String
    package var toolVersion: String
    /// SHA-256 of the effective settings and job, secrets left out: a checkpoint is only continued
    /// by a run with the same one.
    package var settingsDigest: String
    /// Every filter in words (`limit 100`, `shard 1/4`); empty when the whole job ran.
    package var filters: [String]
    /// Whether the run is to judge every row: `false` for jobs that only read notifications, and
    /// for partial runs.
    ///
    /// Only then do rows that a stopped run did not reach count as undecided; otherwise they are
    /// out of scope.
    package var coversEveryRow = true
    /// Whether the run checks rows by what it asks of Apple, rather than working off a plan.
    package var judgesRows = true
    /// Whether the company's tables are counted as the run begins and at its end: not for a job
    /// that only reads notifications, which may run every hour.
    package var countsTables = true
    /// On how many distinct UTC days Apple must fail to find an id before that counts as confirmed.
    package var notFoundConfirmations: Int
    /// The job's file; `nil` where no file says what the run does.
    package var jobFile: String?
    /// The limits of its guards, as `GuardLimits` writes them.
    package var guards: String?

    /// Whether what the run settles leaves the queue: a check takes nothing off, nor does a partial
    /// run, unless it is for some apps alone and does all that is to be done for them.
    package var worksOffQueue: Bool {
        mode == .apply && judgesRows && leavesOutNothingOfItsApps
    }

    /// Whether it is limited to some apps, and leaves out nothing of theirs.
    package var isForAppsAlone: Bool { Self.isForAppsAlone(filters) }

    /// Returns whether stored filters name apps alone.
    package static func isForAppsAlone(_ filters: [String]) -> Bool {
        !filters.isEmpty && filters.allSatisfy { $0.hasPrefix(appFilterPrefix) }
    }

    /// Whether it leaves out nothing of the apps that it is for: then it repeats their open findings,
    /// and closes those that it looked for and did not find.
    package var leavesOutNothingOfItsApps: Bool { filters.isEmpty || isForAppsAlone }

    /// The apps that it is for alone, as `--app` takes them; empty where it is for all of the
    /// settings, or leaves out anything else.
    ///
    /// Such a run is a worker's whole run.
    package var appsAlone: [String] {
        isForAppsAlone ? filters.map { String($0.dropFirst(Self.appFilterPrefix.count)) } : []
    }

    /// The beginning of the text for a filter by app.
    package static let appFilterPrefix = "app "

    /// Whether several of its runs may make one full scan over every row, or over every row of the
    /// apps that it is for.
    package var goesRound: Bool { worksOffQueue && coversEveryRow }

    /// Whether what a stopped run did not reach counts as undecided in its report: in a partial
    /// run, and in one that works off a plan, it is out of scope; in one for some apps, so are
    /// other apps.
    package var missesWhatItLeaves: Bool { leavesOutNothingOfItsApps && judgesRows }

    /// How old a checkpoint may be for a run to continue it.
    ///
    /// Six hours where nothing is lost with the checkpoint: a run that came to its end has left the
    /// pending checks of it on the queue, and notes about the rows that it checked, so the next run
    /// may look again. A day where a new one would begin from the start: after a walk over every
    /// row was killed, for a check of every row, and for a stored plan.
    ///
    /// - Parameter killed: Whether the checkpoint's last run did not come to its end.
    /// - Returns: Milliseconds since the checkpoint began.
    package func continuesWithinMilliseconds(killed: Bool) -> Int64 {
        let beginsFromStart = coversEveryRow && (killed || !goesRound)
        return beginsFromStart || !judgesRows
            ? OpenPass.longestMilliseconds : OpenPass.usualMilliseconds
    }

    /// The host of `actor`, without what it says in brackets about the run.
    package var host: String {
        let who = actor.firstRange(of: " (").map { actor[..<$0.lowerBound] } ?? actor[...]
        return who.split(separator: "@").last.map(String.init) ?? actor
    }

    package init(
        runID: String, job: String, mode: RunMode, started: Timestamp, apps: [AppIdentity],
        actor: String, toolVersion: String, settingsDigest: String, filters: [String],
        notFoundConfirmations: Int
    ) {
        self.runID = runID
        self.job = job
        self.mode = mode
        self.started = started
        self.apps = apps
        self.actor = actor
        self.toolVersion = toolVersion
        self.settingsDigest = settingsDigest
        self.filters = filters
        self.notFoundConfirmations = notFoundConfirmations
    }
}

/// How long after its beginning a checkpoint may be continued.
extension OpenPass {
    /// The usual longest time of a run; the next one begins again.
    package static let usualMilliseconds = usualHours * 60 * 60 * 1000
    package static let usualHours: Int64 = 6
    /// Where else a whole walk would begin from its start.
    ///
    /// Older passes are dropped, whatever they are about.
    package static let longestMilliseconds: Int64 = 24 * 60 * 60 * 1000
}

/// Whether a run may write to subscription rows.
package enum RunMode: String, Hashable, Sendable, CaseIterable {
    case check, apply
}

/// A pass over the population: one run, or several when the first ones were stopped.
package struct OpenPass: Hashable, Sendable {
    package var passID: Int64
    /// The run that was stopped in this checkpoint, when this one continues it.
    package var resumedFrom: String?
    /// Apps whose notification history has been read in this checkpoint.
    package var recoveredApps: [AppIdentity] = []
    /// Sentences about notifications that are lost for good, which killed runs have found and no
    /// run has reported.
    package var unreportedShortfalls: [String] = []
    /// The last key of the walk whose page was staged.
    package var walkedThrough: SubscriptionKey?
    /// When the first run of an unfinished full scan over every row began; rows checked since are
    /// done.
    package var roundBegan: Timestamp?

    package init(passID: Int64, resumedFrom: String? = nil) {
        self.passID = passID
        self.resumedFrom = resumedFrom
    }
}

/// The results of a run, counted once and kept when the lists of its report are past their
/// retention.
package struct RunFigures: Hashable, Sendable, Codable {
    /// Findings by kind.
    package var kinds: [String: Int]
    package var money: [MoneyTotal]

    package init(kinds: [String: Int], money: [MoneyTotal]) {
        self.kinds = kinds
        self.money = money
    }
}

/// A run of the same job and mode that began before another one, for the history in its report.
package struct EarlierRun: Hashable, Sendable {
    package var runID: String
    package var started: Timestamp
    /// `nil` where the process was killed.
    package var exitStatus: ExitStatus?
    /// Whether only a part of the job was to be checked.
    package var isPartial: Bool
    /// Whether the run that it is held against is for some apps alone, and this one for others or all.
    package var isOfOtherApps = false
    package var totals: RunTotals
    /// All calls to Apple.
    package var calls: Int
    package var coverage: RunCoverage?
    /// `nil` for runs of versions that did not keep them.
    package var figures: RunFigures?
    /// Calls to Apple by endpoint.
    package var callsByEndpoint: [String: Int] = [:]
    /// `nil` for runs of versions that did not measure them.
    package var measures: RunMeasures?

    package init(
        runID: String, started: Timestamp, exitStatus: ExitStatus?, isPartial: Bool,
        totals: RunTotals, calls: Int, coverage: RunCoverage? = nil, figures: RunFigures? = nil
    ) {
        self.runID = runID
        self.started = started
        self.exitStatus = exitStatus
        self.isPartial = isPartial
        self.totals = totals
        self.calls = calls
        self.coverage = coverage
        self.figures = figures
    }
}

/// A run as all workers on a company's database see it.
package struct WorkerRun: Hashable, Sendable {
    /// The identity of the worker's books: a run is named once in them.
    package var books: String
    /// Who works, as `user@host`.
    package var worker: String
    /// The apps that it is for, as `--app` takes them.
    package var apps: [String]
    package var listing: RunListing
    /// The first line of its summary; `nil` while it runs, or when it was killed.
    package var headline: String?
    /// Its report folder, on the worker's disk; `nil` before it is published.
    package var report: String?
    /// The run's totals; `nil` while it runs, or when it was killed.
    package var figures: RunSums?

    package init(
        books: String, worker: String, apps: [String], listing: RunListing,
        headline: String? = nil, report: String? = nil, figures: RunSums? = nil
    ) {
        self.books = books
        self.worker = worker
        self.apps = apps
        self.listing = listing
        self.headline = headline
        self.report = report
        self.figures = figures
    }
}

/// The totals of a run, in numbers that can be added to those of others.
package struct RunSums: Hashable, Sendable {
    package var corrected: Int
    package var open: Int
    package var new: Int
    package var money: [MoneyTotal]

    package init(corrected: Int, open: Int, new: Int, money: [MoneyTotal]) {
        self.corrected = corrected
        self.open = open
        self.new = new
        self.money = money
    }
}
