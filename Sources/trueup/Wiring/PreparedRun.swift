import CCommit
import FoundationEssentials
import Glibc
import Reconciliation
import ReconciliationRun
import Reports
package import SubscriptionStore
package import Subscriptions

/// A run as a value, before anything is opened or written: what it does, what it is recorded as,
/// and whether it asks Apple.
///
/// `run` and `check` prepare it from a job's settings, `apply` from a stored plan, and `undo` from
/// an earlier run. `RunSession` performs all of them alike.
struct PreparedRun {
    let settings: Settings
    var job: ReconciliationJob
    let header: RunHeader
    let clock: RunClock
    /// The description of the run in its lock, such as `run nightly`.
    let description: String
    /// All roots that signed payloads may lead to, each once.
    let trustedRoots: [TrustedRoot]
    /// How long an endpoint that does not work is waited for.
    let maxOutage: Duration
    /// The company's programs that it starts.
    let hooks: JobHooks
    /// The job whose need is forecast; `nil` where rows are left out, or nothing is checked.
    let forecastedJob: JobSettings?
    /// Whether it does what its job file says, with every row of its apps.
    ///
    /// Metrics, messages and pings are about such runs: one for some apps alone is its worker's
    /// whole run.
    var isWholeRun = false
    /// Whether a run that ended so needs no attention: a job that only reads notifications may have
    /// no row to judge, and then nothing had been missed.
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
        trustedRoots = try settings.reportedRoots()
        maxOutage = .milliseconds(limits.maxOutageMilliseconds)
        hooks = limits.hooks
        // An id that one environment does not know is checked in the other one of the bundle.
        let bundles = Set(header.apps.map(\.bundleID))
        askedApps =
            asksApple ? settings.apps.filter { bundles.contains($0.identity.bundleID) } : []
        var limits = limits
        limits.mode = job.mode
        forecastedJob =
            job.planSource == .judgement && !job.filters.isPartial ? limits : nil
        // A ledger entry of a partial run, or one that rests on another root, says so for ever.
        var header = header
        let notices = header.filters + [trustedRoots.notice].compactMap(\.self)
        if !notices.isEmpty { header.actor += " (\(notices.joined(separator: "; ")))" }
        self.header = header
    }
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
        let settings = try common.settings(in: invocation)
        var jobSettings = try JobSettings.load(options.job, beside: settings)
        if let milliseconds = try options.maxDurationMilliseconds() {
            jobSettings.maxDurationMilliseconds = milliseconds
        }
        let verb = mode == .check ? "check " : "run "
        let mode = mode ?? jobSettings.mode
        if let guards, guards.isUsed, mode == .check {
            throw CommandFailure(
                .usage,
                "--lift-guard and --canary are for jobs that write, and \(jobSettings.file) has mode: "
                    + "check. Apple was not asked.")
        }
        var job = ReconciliationJob(
            jobSettings, mode: mode, settings: settings, now: invocation.now())
        job.steps = jobSettings.steps
        job.coverage = Coverage(jobSettings)
        job.refundSweepDays = jobSettings.purchaseSweepDays
        job.failOn = jobSettings.failOn.severity
        job.failsOnNewAlone = jobSettings.failOn.isAboutNewOnly
        job.policy.onlyKinds = try options.onlyKinds()
        job.filters = RunFilters(
            ids: try options.idsFile.map(Self.ids), limit: options.limit,
            shard: options.shard, apps: try options.scope.apps(among: settings.apps))
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
            filters: options.filtersInWords + job.filters.appsInWords)
        if let apps = job.filters.apps { header.apps = apps.sorted() }
        let asksEverybody = jobSettings.coverage == .full || job.filters.ids != nil
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
            throw CommandFailure(
                .data,
                "The file of --ids-file, \(path), cannot be read. Apple was not asked. Check its path and "
                    + "its rights.")
        }
        var ids: Set<String> = []
        let lines = data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let text = String(decoding: line, as: UTF8.self)
                .filter { $0 != " " && $0 != "\t" && $0 != "\r" }
            guard !text.isEmpty else { continue }
            guard TransactionID(text) != nil else {
                throw CommandFailure(
                    .data,
                    "\(path):\(index + 1): this line is not a transaction id. Apple was not asked. Correct "
                        + "the line.")
            }
            ids.insert(text)
        }
        return ids
    }
}

/// `apply` and `undo`: corrections that are known before the run, so that nothing is checked.
extension PreparedRun {
    /// Works off a stored plan.
    ///
    /// - Throws: 78 for settings and for the job's file; `StoreError` where the database cannot be read.
    init(
        applying plan: PlanSeal, guards: GuardOptions, settings: Settings,
        in invocation: Invocation
    ) throws {
        let limits = try JobSettings.ofPlan(plan.head, beside: settings)
        try self.init(
            .plan(plan.sha256), named: "apply \(plan.head.job)",
            limits: limits.job, filters: plan.head.scope,
            identity: "plan \(plan.sha256)", guards: guards, settings: settings, in: invocation)
        job.remarks += [limits.remark].compactMap(\.self)
    }

    /// Takes an earlier run back.
    ///
    /// - Throws: as for a plan.
    init(undoing runID: String, settings: Settings, in invocation: Invocation) throws {
        try self.init(
            .undo(ofRun: runID), named: "undo \(runID)",
            limits: JobSettings(name: "undo", file: ""), filters: [], identity: "undo \(runID)",
            guards: nil, settings: settings, in: invocation)
    }

    /// `limits` are the guards and times that hold for it; `identity` is what it does, in words: a
    /// killed run is continued only by one with the same.
    private init(
        _ source: PlanSource, named name: String, limits: JobSettings, filters: [String],
        identity: String, guards: GuardOptions?, settings: Settings, in invocation: Invocation
    ) throws {
        let started = invocation.now()
        var job = ReconciliationJob(limits, mode: .apply, settings: settings, now: started)
        job.name = name
        job.planSource = source
        try job.take(guards)
        let clock = RunClock(now: invocation.now, deadline: job.deadline)
        var header = RunHeader(
            limits, mode: .apply, started: started, settings: settings, filters: filters,
            alsoDigesting: [identity])
        header.job = name
        header.coversEveryRow = false
        header.judgesRows = false
        // Only a canary is checked a second time at Apple; an earlier run may have written one
        // and ended before that.
        let asksApple =
            try job.canary != nil
            || Books(settings).openToRead(at: invocation.now())
                .hasUnfinishedCanary(for: header)
        try self.init(
            settings, job, header, clock, description: name, limits: limits, asksApple: asksApple)
    }
}

extension JobSettings {
    /// Reads the job that a plan was made by: its guards are those of then, which the database
    /// keeps; the rest is as its file says now, or as by default where there is no such file.
    ///
    /// A file that cannot be read or is wrong is refused: it may name hooks that have to agree.
    ///
    /// - Returns: The job, and a sentence for the report where its file is gone.
    /// - Throws: 78 for a file that is there and cannot be used.
    package static func ofPlan(
        _ plan: PlanHead, beside settings: Settings
    ) throws(ConfigurationError) -> (job: JobSettings, remark: String?) {
        // Settings and jobs may have moved together since the check.
        let usual = SettingsPath.resolve("jobs/\(plan.job).yaml", from: settings.directory)
        let checked = plan.jobFile ?? usual
        let file =
            FileSystemFacts.isMissing(checked) && !FileSystemFacts.isMissing(usual)
            ? usual : checked
        var job = JobSettings(name: plan.job, file: file)
        var remark: String?
        if FileSystemFacts.isMissing(file) {
            remark =
                "The job file \(file) is gone, so this run started no hooks, and used the defaults "
                + "of max_duration, max_outage and settle. If the job had hooks, restore the file "
                + "before you apply another plan."
        } else {
            job = try JobSettings.load(file, beside: settings)
        }
        if let guards = plan.guards { job.guards = GuardLimits(text: guards) }
        return (job, remark)
    }
}

extension Coverage {
    /// Which rows a job file checks.
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
    /// A job without steps: what checking, guarding and recovering depend on.
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
        policy.keep(as: settings.company.mapping)
        policy.catalogue = settings.catalogue?.products
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

/// The orders that people gave a run, from when to when: for its report.
package struct OrderHistory: Sendable {
    /// How many orders have a sentence of their own.
    package static let mostShown = 10

    private var sentences: [String] = []
    private var notShown = 0

    package init() {}

    /// Takes note of an order that holds no longer.
    package mutating func add(_ ended: RunOrders.Order, until end: Timestamp) {
        guard sentences.count < Self.mostShown else {
            notShown &+= 1
            return
        }
        sentences.append(Self.sentence(ended, until: end.rfc3339))
    }

    /// In the order of their ends, those that still hold last.
    package func sentences(stillHolding orders: RunOrders) -> [String] {
        var all = sentences
        if notShown > 0 { all.append("run.log.jsonl has \(notShown) more pauses and throttles.") }
        let holding = [orders.pause, orders.throttle].compactMap(\.self)
        return all + holding.map { Self.sentence($0, until: "the run's end") }
    }

    private static func sentence(_ order: RunOrders.Order, until end: String) -> String {
        let span = "from \(order.since.rfc3339) to \(end) by \(PlainText.of(order.by))"
        guard let rate = order.requestsPerSecond else {
            return "Paused \(span): the run did not ask Apple meanwhile, and max_duration "
                + "continued to count."
        }
        return "Throttled to \(rate) requests a second \(span)."
    }
}

/// The version of the tool, as `--version` and every manifest state it.
package enum ToolVersion {
    package static let current = "0.1.0"

    /// Version and commit, for `--version --json`.
    static var json: CanonicalJSON {
        let commit = unsafe trueup_commit().map { unsafe String(cString: $0) }
        return .object([
            "version": .string(current), "commit": commit.map(CanonicalJSON.string) ?? .null,
        ])
    }
}

/// Who runs this process, as the ledger and the lock name it.
package enum RunningUser {
    /// `user@host`; the user's number where it has no name (containers).
    package static var actor: String {
        let number = getuid()
        let name = unsafe getpwuid(number).flatMap { entry in
            unsafe entry.pointee.pw_name.map { unsafe String(cString: $0) }
        }
        return (name ?? String(number)) + "@" + host
    }

    /// The machine, as it calls itself.
    static var host: String {
        var name = [CChar](repeating: 0, count: 256)
        guard unsafe gethostname(&name, name.count - 1) == 0 else { return "unknown" }
        return String(
            decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// For the lock: who, and which process of theirs.
    package static func lockHolder(doing what: String) -> String {
        "\(actor), process \(getpid()), \(what)"
    }
}

extension RunHeader {
    /// Makes the header of a run, under a name of its own.
    ///
    /// - Parameters:
    ///   - job: the settings that it runs by.
    ///   - mode: whether it may write.
    ///   - started: by its own clock.
    ///   - settings: those of the file.
    ///   - filters: what leaves rows or findings out, in words.
    ///   - identity: what else tells it from other runs: a killed run is continued only by one with
    ///     the same digest.
    init(
        _ job: JobSettings, mode: RunMode, started: Timestamp, settings: Settings,
        filters: [String] = [], alsoDigesting identity: [String] = []
    ) {
        self.init(
            runID: Self.newRunID(started: started), job: job.name, mode: mode, started: started,
            apps: settings.identities, actor: RunningUser.actor, toolVersion: ToolVersion.current,
            settingsDigest: SettingsDigest.of(
                settings, job, mode: mode, filters: filters + identity),
            filters: filters, notFoundConfirmations: job.notFoundConfirmations)
    }

    /// For example `20261120T031704Z-7f3c9a`: sorts by time, and no two runs share one.
    private static func newRunID(started: Timestamp) -> String {
        let digits = started.rfc3339.prefix(19).filter { $0 != "-" && $0 != ":" }
        let random = String(UInt32.random(in: 0..<(1 << 24)), radix: 16)
        return digits + "Z-" + String(repeating: "0", count: 6 - random.count) + random
    }
}
