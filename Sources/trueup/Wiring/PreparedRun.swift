import FoundationEssentials
import Reconciliation
import ReconciliationRun
import Reports
import SubscriptionStore
import Subscriptions

/// A run as a value, before anything is opened or written: what it does, what it is recorded as, and
/// whether it asks Apple.
///
/// `run` and `check` prepare it from a job's settings, `apply` from a stored plan, and `undo` from an
/// earlier run. `RunSession` performs all of them alike.
struct PreparedRun {
    let settings: Settings
    var job: ReconciliationJob
    let header: RunHeader
    let clock: RunClock
    /// What the lock says is going on, such as `run nightly`.
    let description: String
    /// By what the signed payloads of each app are checked.
    let trust: [AppTrust]
    /// How long an endpoint that does not work is waited for.
    let maxOutage: Duration
    /// The job whose need is forecast; `nil` where rows are left out, or nothing is judged.
    let forecastedJob: JobSettings?
    /// Whether it does what its job file says, with every row of its apps.
    ///
    /// Metrics, messages and pings are about such runs: one for some apps alone is its worker's whole
    /// night.
    var isWholeRun = false
    /// Whether a run that ended so needs nobody: a job that only reads notifications may have no row
    /// to judge, and then nothing had been missed.
    func isWell(_ status: ExitStatus) -> Bool {
        status == .ok || status == .empty && !job.steps.contains(.walk)
    }

    /// The apps that Apple is asked about: none where nothing is asked, and then no key is needed.
    let askedApps: [AppSettings]

    /// The apps that the run is for.
    var apps: [AppIdentity] { header.apps }

    /// Completes what all kinds of runs have in common: the roots, and who acts.
    private init(
        _ settings: Settings, _ job: ReconciliationJob, _ header: RunHeader, _ clock: RunClock,
        description: String, limits: JobSettings, asksApple: Bool
    ) throws {
        self.settings = settings
        self.job = job
        self.clock = clock
        self.description = description
        trust = try settings.apps.map(AppTrust.init)
        maxOutage = .milliseconds(limits.maxOutageMilliseconds)
        // An id that one environment does not know is asked about in the other one of the bundle.
        let bundles = Set(header.apps.map(\.bundleID))
        askedApps =
            asksApple ? settings.apps.filter { bundles.contains($0.identity.bundleID) } : []
        var limits = limits
        limits.mode = job.mode
        forecastedJob =
            job.planSource == .judgement && !job.narrowing.isNarrowed ? limits : nil
        // A ledger entry of a narrowed run, or one that rests on another root, says so for ever.
        var header = header
        let roots = trust.flatMap(\.reportedRoots).uniqued()
        let notices = header.narrowing + [roots.notice].compactMap(\.self)
        if !notices.isEmpty { header.actor += " (\(notices.joined(separator: "; ")))" }
        self.header = header
    }

    /// All roots that signed payloads may lead to, each once.
    var trustedRoots: [TrustedRoot] { trust.flatMap(\.reportedRoots).uniqued() }
}

/// `run` and `check`.
extension PreparedRun {
    /// - Parameters:
    ///   - options: the job, and what narrows it.
    ///   - guards: what lets the plan past the guards; `nil` for a command that writes nothing.
    ///   - mode: instead of the job's: `check` writes nothing, whatever the job says.
    ///   - common: where the settings are.
    ///   - invocation: variables and clock.
    /// - Throws: 78 for settings, 64 for arguments that contradict them, 65 for a file of ids.
    init(
        _ options: RunOptions, guards: GuardOptions?, forcing mode: RunMode?,
        common: CommonOptions, in invocation: Invocation
    ) throws {
        let settings = try Settings.load(
            flag: common.config, environment: invocation.environment)
        var jobSettings = try JobSettings.load(options.job, beside: settings)
        if let milliseconds = try options.maxDurationMilliseconds() {
            jobSettings.maxDurationMilliseconds = milliseconds
        }
        let verb = mode == .check ? "check " : "run "
        let mode = mode ?? jobSettings.mode
        if let guards, guards.isUsed, mode == .check {
            throw CommandFailure(
                .usage,
                "--lift-guard and --canary are for jobs that write; \(jobSettings.file) says mode: "
                    + "check")
        }
        var job = ReconciliationJob(
            jobSettings, mode: mode, settings: settings, now: invocation.now())
        job.steps = jobSettings.steps.map { step in
            switch step {
            case .recover: .recover
            case .walk: .walk
            }
        }
        job.coverage = Coverage(jobSettings)
        job.failOn = jobSettings.failOn.severity
        job.failsOnNewAlone = jobSettings.failOn.isAboutNewOnly
        job.policy.onlyKinds = try options.onlyKinds()
        job.narrowing = Narrowing(
            ids: try options.idsFile.map(Self.ids), limit: options.limit,
            shard: options.shard?.shard, apps: try options.scope.apps(among: settings.apps))
        try job.take(guards)
        let words = options.words
        job.commands = RunCommands(
            own: ["trueup", mode == .check ? "check" : "run"] + words,
            check: ["trueup", "check"] + words, settings: common.settingsWords)
        let clock = RunClock(
            now: try invocation.clock(startingAt: options.now, settings: settings),
            deadline: job.deadline)
        var header = RunHeader(
            jobSettings, mode: mode, started: clock.now(), settings: settings,
            narrowing: options.narrowingInWords + job.narrowing.appsInWords)
        if let apps = job.narrowing.apps { header.apps = apps.sorted() }
        let asksEverybody = jobSettings.coverage == .full || job.narrowing.ids != nil
        header.coversEveryRow = jobSettings.steps.contains(.walk) && asksEverybody
        header.countsTables = jobSettings.steps.contains(.walk)
        header.jobFile = SettingsPath.resolve(
            jobSettings.file, from: FileManager.default.currentDirectoryPath)
        header.guards = jobSettings.guards.text
        try self.init(
            settings, job, header, clock, description: verb + jobSettings.name,
            limits: jobSettings, asksApple: true)
        isWholeRun = header.leavesOutNothingOfItsApps && mode == jobSettings.mode
    }

    /// The ids of `--ids-file`: one a line; empty lines and the space around an id do not count.
    private static func ids(ofFileAt path: String) throws -> Set<String> {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw CommandFailure(.data, "\(path): cannot be read; nothing was asked")
        }
        var ids: Set<String> = []
        let lines = data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let text = String(decoding: line, as: UTF8.self)
                .filter { $0 != " " && $0 != "\t" && $0 != "\r" }
            guard !text.isEmpty else { continue }
            guard TransactionID(text) != nil else {
                throw CommandFailure(
                    .data, "\(path):\(index + 1): not a transaction id; nothing was asked")
            }
            ids.insert(text)
        }
        return ids
    }
}

/// `apply` and `undo`: corrections that are known before the run, so that nothing is judged.
extension PreparedRun {
    /// Works off a stored plan.
    ///
    /// - Throws: 78 for settings; `StoreError` where the database cannot be read.
    init(
        applying plan: PlanSeal, guards: GuardOptions, settings: Settings,
        in invocation: Invocation
    ) throws {
        try self.init(
            .plan(plan.sha256), named: "apply \(plan.head.job)",
            limits: JobSettings(of: plan.head, beside: settings), narrowing: plan.head.scope,
            identity: "plan \(plan.sha256)", guards: guards, settings: settings, in: invocation)
    }

    /// Takes an earlier run back.
    ///
    /// - Throws: as for a plan.
    init(undoing runID: String, settings: Settings, in invocation: Invocation) throws {
        try self.init(
            .undo(ofRun: runID), named: "undo \(runID)",
            limits: JobSettings(name: "undo", file: ""), narrowing: [], identity: "undo \(runID)",
            guards: nil, settings: settings, in: invocation)
    }

    /// `limits` are the guards and times that hold for it; `identity` is what it does, in words: a
    /// killed run is continued only by one with the same.
    private init(
        _ source: PlanSource, named name: String, limits: JobSettings, narrowing: [String],
        identity: String, guards: GuardOptions?, settings: Settings, in invocation: Invocation
    ) throws {
        let started = invocation.now()
        var job = ReconciliationJob(limits, mode: .apply, settings: settings, now: started)
        job.name = name
        job.planSource = source
        try job.take(guards)
        let clock = RunClock(now: invocation.now, deadline: job.deadline)
        var header = RunHeader(
            limits, mode: .apply, started: started, settings: settings, narrowing: narrowing,
            alsoDigesting: [identity])
        header.job = name
        header.coversEveryRow = false
        header.judgesRows = false
        // Only a canary is looked at a second time at Apple; an earlier run may have written one and
        // ended before that.
        let asksApple =
            try job.canary != nil
            || Books(settings).openToRead(at: invocation.now())
                .hasUnfinishedCanary(for: header)
        try self.init(
            settings, job, header, clock, description: name, limits: limits, asksApple: asksApple)
    }
}

extension JobSettings {
    /// The job that a plan was made by: its guards are those of then, which the database keeps; the
    /// rest is as its file says now, or as by default where that is gone or cannot be read.
    fileprivate init(of plan: PlanHead, beside settings: Settings) {
        let file =
            plan.jobFile
            ?? SettingsPath.resolve("jobs/\(plan.job).yaml", from: settings.directory)
        self =
            (try? JobSettings.load(file, beside: settings))
            ?? JobSettings(name: plan.job, file: file)
        if let guards = plan.guards { self.guards = GuardLimits(text: guards) }
    }
}

extension Coverage {
    /// Which rows a job file asks about.
    fileprivate init(_ job: JobSettings) {
        switch job.coverage {
        case .full: self = .full
        case .delta:
            self = .delta(
                DeltaSettings(
                    sweepMilliseconds: Int64(job.sweepDays) * Milliseconds.perDay,
                    sweepEndedMilliseconds: Int64(job.sweepEndedDays) * Milliseconds.perDay,
                    sample: job.sample))
        }
    }
}

extension ReconciliationJob {
    /// A job without steps: what judging, guarding and recovering depend on.
    fileprivate init(_ job: JobSettings, mode: RunMode, settings: Settings, now: Timestamp) {
        self.init(
            name: job.name, steps: [], mode: mode, failOn: nil,
            maxDurationMilliseconds: job.maxDurationMilliseconds,
            policy: Policy(
                now: now, apps: settings.identities, settleMilliseconds: job.settleMilliseconds,
                notFoundConfirmations: job.notFoundConfirmations, history: job.history,
                reportOnlyFields: job.reportOnlyFields),
            guards: job.guards,
            recover: RecoverSettings(
                overlapMilliseconds: job.recover.overlapMilliseconds,
                lookbackMilliseconds: job.recover.lookbackMilliseconds,
                inboxIsKept: job.recover.inbox == .imported))
        policy.keep(as: settings.company)
    }

    fileprivate mutating func take(_ guards: GuardOptions?) throws {
        liftedGuards = try guards?.liftedGuards() ?? [:]
        canary = guards?.canary
    }

    fileprivate var deadline: ContinuousClock.Instant {
        ContinuousClock.now + .milliseconds(maxDurationMilliseconds)
    }
}

extension Sequence where Element: Hashable {
    /// The elements in order, each once.
    func uniqued() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
