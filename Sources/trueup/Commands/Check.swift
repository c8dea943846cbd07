import AppStoreServerAPI
package import ArgumentParser
import ReconciliationRun
import SubscriptionStore
package import Subscriptions

/// `trueup check JOB`.
package struct Check: Verb {
    package static let configuration = CommandConfiguration(
        abstract: "Compare a job's rows with Apple and leave a plan; write no row.",
        discussion: """
            It does what run does, but writes no subscription row, whatever the job says. plan.json in \
            its report has what a run would change; "trueup apply" applies exactly that. trueup's own \
            records (evidence, findings, days on which Apple did not find an id) are written. The \
            watermark of the notification history stays where it is. "trueup plan" is another name of \
            the command.
            """,
        aliases: ["plan"])

    @OptionGroup package var options: RunOptions
    @OptionGroup(title: "For every command") package var common: CommonOptions

    package static let exitStatuses = CommandStatuses(
        [CommandStatuses.run, [.ok, .findings, .empty]],
        [
            .guarded: "hooks.before kept the run from beginning",
            .empty: "nothing in scope, or no app is assigned to the worker of --app-shard",
            .data: "the file of --ids-file cannot be used",
        ])

    package init() {}

    package func perform(in invocation: Invocation) async throws -> ExitStatus {
        try await PreparedRun(options, guards: nil, forcing: .check, common: common, in: invocation)
            .perform(options.dry, common, in: invocation)
    }
}

/// `trueup run JOB`.
package struct Run: Verb {
    package static let configuration = CommandConfiguration(
        abstract: "Run a job: ask Apple, compare, correct what can be proven, and report.",
        discussion: """
            The job file says which rows the run checks and whether it writes. With "coverage: delta" \
            it checks the rows that may have changed, a part of the others in turn, and a sample; with \
            "coverage: full" it checks all. What a run leaves undone, the next ones do. The job's guards \
            check the whole plan before the first write. If one stops it, the run exits with 4; \
            --lift-guard lets that plan through once.
            """)

    @OptionGroup package var options: RunOptions
    @OptionGroup(title: "Guards") package var guards: GuardOptions
    @OptionGroup(title: "For every command") package var common: CommonOptions

    package static let exitStatuses = CommandStatuses(
        [CommandStatuses.run, [.ok, .findings, .guarded]],
        [
            .empty: "nothing in scope, or no app is assigned to the worker of --app-shard",
            .data: "the file of --ids-file cannot be used",
        ])

    package init() {}

    package func perform(in invocation: Invocation) async throws -> ExitStatus {
        try await PreparedRun(options, guards: guards, forcing: nil, common: common, in: invocation)
            .perform(options.dry, common, in: invocation)
    }
}

extension PreparedRun {
    /// Performs a `run` or `check`, or with `--dry-run` its forecast.
    func perform(
        _ dry: DryRunOption, _ common: CommonOptions, in invocation: Invocation
    ) async throws -> ExitStatus {
        guard !dry.dryRun else { return try await showForecast(common, in: invocation) }
        return try await RunSession(run: self, common: common, invocation: invocation).perform()
    }

    /// Shows the forecast, without a call to Apple.
    ///
    /// Only Apple's answers say what differs, so this is the forecast of `estimate`, after everything
    /// that the run itself refuses was checked: settings, job, key, roots and the file of ids.
    private func showForecast(
        _ common: CommonOptions, in invocation: Invocation
    ) async throws -> ExitStatus {
        for app in askedApps {
            _ = try AppConnection.key(of: app, environment: invocation.environment)
        }
        let store = try Books(settings).openToRead(at: invocation.now())
        let words = "\(header.job) (mode \(job.mode.rawValue))"
        let writes =
            job.mode == .apply
            ? "It would correct rows. \"trueup check\" makes the plan of that without writing a row."
            : "It would write no subscription row."
        var members: [String: CanonicalJSON] = [
            "dry_run": .boolean(true), "forecast": .null, "job": .string(header.job),
            "mode": .string(job.mode.rawValue), "scope": .strings(header.filters),
        ]
        guard let forecastedJob else {
            let filters = header.filters.joined(separator: ", ")
            try common.show(
                .object(members),
                [
                    "Dry run of \(words), only \(filters): a partial run is not forecast. \(writes) "
                        + "Apple was not asked, and nothing was written."
                ], in: invocation)
            return .ok
        }
        let forecast = try await RunForecast(
            of: forecastedJob, settings: settings, apps: job.filters.apps, at: header.started,
            in: store)
        let report = EstimateReport(
            job: forecastedJob, forecast: forecast, copy: try settings.company.copy(in: store))
        members["forecast"] = report.json
        members["scope"] = .array([])
        try common.show(
            .object(members),
            ["Dry run of \(words). \(writes) Apple was not asked, and nothing was written.", ""]
                + report.lines, in: invocation)
        return .ok
    }
}

/// `trueup pause JOB`: a running job asks Apple nothing until it is told to continue.
struct Pause: Verb {
    static let configuration = CommandConfiguration(
        abstract: "Make a running job stop asking Apple for a while.",
        discussion: """
            Calls in progress end; then the job waits. It keeps its lock and its place. Its max_duration \
            continues to count: at its deadline the job ends like any other run (exit status 3). It still \
            writes what was decided before. The pause applies to this run alone.
            """)

    @Argument(help: ArgumentHelp("The running job.", valueName: "job"), completion: .jobs)
    var job: String

    @OptionGroup var dry: DryRunOption
    @OptionGroup(title: "For every command") var common: CommonOptions

    static let exitStatuses = CommandStatuses.ofOrders

    func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try common.settings(in: invocation)
        let running = try RunningJob(named: job, settings: settings)
        var orders = running.orders
        let resumption = common.command("resume", running.live.job)
        if let pause = orders.pause {
            try common.show(
                orders.json,
                [
                    "\(running.name) is \(pause.sentence) already. Nothing was changed. To continue "
                        + "it: " + resumption
                ], in: invocation)
            return .ok
        }
        orders.pause = RunOrders.Order(since: invocation.now(), by: RunningUser.actor)
        return try dry.give(
            orders, to: running, forecast: "\(running.name) would be paused.",
            result:
                "\(running.name) stops asking Apple within a second. Its max_duration continues to "
                + "count. To continue it: " + resumption,
            common, in: invocation)
    }
}

/// `trueup resume JOB`: a paused job continues.
struct Resume: Verb {
    static let configuration = CommandConfiguration(
        abstract: "Let a paused job continue.",
        discussion: "The job continues from its place, within a second.")

    @Argument(help: ArgumentHelp("The running job.", valueName: "job"), completion: .jobs)
    var job: String

    @OptionGroup var dry: DryRunOption
    @OptionGroup(title: "For every command") var common: CommonOptions

    static let exitStatuses = CommandStatuses.ofOrders

    func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try common.settings(in: invocation)
        let running = try RunningJob(named: job, settings: settings)
        var orders = running.orders
        guard orders.pause != nil else {
            let sentence = "\(running.name) is not paused."
            guard !dry.dryRun else {
                return try dry.show(orders.json, sentence, common, in: invocation)
            }
            try common.show(orders.json, [sentence + " Nothing was changed."], in: invocation)
            return .ok
        }
        orders.pause = nil
        return try dry.give(
            orders, to: running, forecast: "\(running.name) would continue.",
            result: "\(running.name) continues within a second.", common, in: invocation)
    }
}

/// `trueup throttle JOB N`: a running job asks Apple less.
struct Throttle: Verb {
    static let configuration = CommandConfiguration(
        abstract: "Make a running job ask Apple less often, or as often as configured.",
        discussion: """
            N is the number of requests a second to each of Apple's endpoints, for each app: at most the \
            configured rate, at least 0.01. "off" removes the limit. The order applies to this run alone.
            """)

    @Argument(help: ArgumentHelp("The running job.", valueName: "job"), completion: .jobs)
    var job: String

    @Argument(
        help: ArgumentHelp(
            "Requests a second, 0.01 or more, or off.", valueName: "n"),
        transform: RateOption.init(named:))
    var rate: RateOption

    @OptionGroup var dry: DryRunOption
    @OptionGroup(title: "For every command") var common: CommonOptions

    static let exitStatuses = CommandStatuses.ofOrders

    func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try common.settings(in: invocation)
        if case .requestsPerSecond(let wanted) = rate {
            let configured =
                settings.apps.flatMap { app in
                    let rates = QuotaRates.allowed(by: app)
                    return Endpoint.allCases.map(rates.perSecond)
                }.max() ?? 0
            guard wanted <= configured else {
                throw CommandFailure(
                    .usage,
                    "\(wanted) requests a second are more than the \(configured) that the settings "
                        + "allow. Nothing was changed. Give at most \(configured), or raise "
                        + "requests_per_second or quota_share.")
            }
        }
        let running = try RunningJob(named: job, settings: settings)
        var orders = running.orders
        let words: String
        switch rate {
        case .off:
            orders.throttle = nil
            words = "\(running.name) asks as often as configured again, within a second."
        case .requestsPerSecond(let rate):
            orders.throttle = RunOrders.Order(
                requestsPerSecond: rate, since: invocation.now(), by: RunningUser.actor)
            words =
                "\(running.name) makes at most \(rate) requests a second to each endpoint from now on. "
                + "To remove the limit: "
                + common.command("throttle", running.live.job, "off")
        }
        let limit = orders.throttle?.requestsPerSecond.map { "limited to \($0) requests a second" }
        return try dry.give(
            orders, to: running,
            forecast: "\(running.name) would be \(limit ?? "no longer limited").", result: words,
            common, in: invocation)
    }
}

extension DryRunOption {
    /// Gives a running job its orders, or shows what they would do.
    ///
    /// - Parameters:
    ///   - orders: All that it is ordered from now on.
    ///   - running: The job.
    ///   - forecast: What the orders would do, in a sentence.
    ///   - result: What they do.
    ///   - common: Says whether people or machines read the result.
    ///   - invocation: Where it goes.
    /// - Returns: Success.
    /// - Throws: 74 where the orders cannot be written.
    fileprivate func give(
        _ orders: RunOrders, to running: RunningJob, forecast: String, result: String,
        _ common: CommonOptions, in invocation: Invocation
    ) throws -> ExitStatus {
        guard !dryRun else { return try show(orders.json, forecast, common, in: invocation) }
        try running.give(orders)
        try common.show(orders.json, [result], in: invocation)
        return .ok
    }
}

/// The rate that `throttle` orders.
package enum RateOption: Hashable, Sendable {
    case off
    case requestsPerSecond(Double)

    /// A call every hundred seconds; a person who wants less pauses the job.
    private static let lowest = 0.01

    package init(named argument: String) throws {
        if argument == "off" {
            self = .off
            return
        }
        guard argument.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }),
            let rate = Double(argument), rate.isFinite, rate >= Self.lowest
        else {
            throw ValidationError(
                "Give a number of requests a second, \(Self.lowest) or more, or \"off\". To stop the "
                    + "requests: \"trueup pause\".")
        }
        self = .requestsPerSecond(rate)
    }
}
