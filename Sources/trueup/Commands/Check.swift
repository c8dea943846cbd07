import AppStoreServerAPI
package import ArgumentParser
import SubscriptionStore
package import Subscriptions

/// `trueup check JOB`.
package struct Check: Verb {
    package static let configuration = CommandConfiguration(
        abstract: "Does what run does, but writes no subscription row, whatever the job says.",
        discussion: """
            The report's plan.json holds what a run would have changed. The run's own bookkeeping \
            (evidence, findings, nights on which Apple did not find an id) is kept; the watermark \
            of the notification history stays where it is.
            """)

    @OptionGroup package var options: RunOptions
    @OptionGroup(title: "For every command") package var common: CommonOptions

    package init() {}

    package func perform(in invocation: Invocation) async throws -> ExitStatus {
        let run = try PreparedRun(
            options, guards: nil, forcing: .check, common: common, in: invocation)
        return try await RunSession(run: run, common: common, invocation: invocation).perform()
    }
}

/// `trueup run JOB`.
package struct Run: Verb {
    package static let configuration = CommandConfiguration(
        abstract: "Runs a job: asks Apple, compares, corrects what it can prove, and reports.",
        discussion: """
            The job file says which rows are asked about and whether anything is written. With \
            "coverage: delta" those are asked about for which there is a reason, a part of the \
            others in turn, and a sample; with "full", all. What a run leaves undone, for \
            whatever reason, the next ones take up. The job's guards look at the whole plan before \
            the first write; one that objects ends the run with 4, and --lift-guard lets the plan \
            through once.
            """)

    @OptionGroup package var options: RunOptions
    @OptionGroup(title: "Guards") package var guards: GuardOptions
    @OptionGroup(title: "For every command") package var common: CommonOptions

    package init() {}

    package func perform(in invocation: Invocation) async throws -> ExitStatus {
        let run = try PreparedRun(
            options, guards: guards, forcing: nil, common: common, in: invocation)
        return try await RunSession(run: run, common: common, invocation: invocation).perform()
    }
}

/// `trueup pause JOB`: a running job asks Apple nothing until it is told to go on.
package struct Pause: Verb {
    package static let configuration = CommandConfiguration(
        abstract: "Make a running job stop asking Apple for a while.",
        discussion: """
            Calls that are on their way end; then the job waits. It holds its lock and its place, and \
            its max_duration goes on: at its deadline it ends as any other run does (exit 3). What \
            was decided before is still written. The pause is for this run alone.
            """)

    @Argument(help: ArgumentHelp("The running job.", valueName: "job"), completion: .jobs)
    package var job: String

    @OptionGroup package var common: CommonOptions

    package init() {}

    package func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try Settings.load(
            flag: common.config, environment: invocation.environment)
        let running = try RunningJob(named: job, settings: settings)
        var orders = running.orders
        let resumption = common.command("resume", running.live.job)
        if let pause = orders.pause {
            guard !common.json else {
                try invocation.show(json: orders.json)
                return .ok
            }
            try invocation.show(
                "\(running.name) is \(pause.sentence) already; go on with: \(resumption)")
            return .ok
        }
        orders.pause = RunOrders.Pause(since: invocation.now(), by: RunningUser.actor)
        try running.give(orders)
        guard !common.json else {
            try invocation.show(json: orders.json)
            return .ok
        }
        try invocation.show(
            "\(running.name) asks nothing more within a second; its max_duration goes on. "
                + "Go on with: \(resumption)")
        return .ok
    }
}

/// `trueup resume JOB`: a paused job goes on.
package struct Resume: Verb {
    package static let configuration = CommandConfiguration(
        abstract: "Let a paused job go on asking Apple.",
        discussion: "It goes on where it stands, within a second.")

    @Argument(help: ArgumentHelp("The running job.", valueName: "job"), completion: .jobs)
    package var job: String

    @OptionGroup package var common: CommonOptions

    package init() {}

    package func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try Settings.load(
            flag: common.config, environment: invocation.environment)
        let running = try RunningJob(named: job, settings: settings)
        var orders = running.orders
        let wasPaused = orders.pause != nil
        orders.pause = nil
        if wasPaused { try running.give(orders) }
        guard !common.json else {
            try invocation.show(json: orders.json)
            return .ok
        }
        try invocation.show(
            wasPaused
                ? "\(running.name) goes on within a second"
                : "\(running.name) is not paused; nothing was changed")
        return .ok
    }
}

/// `trueup throttle JOB N`: a running job asks Apple less.
package struct Throttle: Verb {
    package static let configuration = CommandConfiguration(
        abstract: "Make a running job ask Apple less, or as much as configured again.",
        discussion: """
            N is a number of requests a second for each of Apple's endpoints, at most the configured \
            ones, or "off". The order is for this run alone.
            """)

    @Argument(help: ArgumentHelp("The running job.", valueName: "job"), completion: .jobs)
    package var job: String

    @Argument(
        help: ArgumentHelp(
            "Requests a second, 0.01 or more, or off.", valueName: "n"),
        transform: RateOption.init(named:))
    package var rate: RateOption

    @OptionGroup package var common: CommonOptions

    package init() {}

    package func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try Settings.load(
            flag: common.config, environment: invocation.environment)
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
                        + "allow; nothing was changed")
            }
        }
        let running = try RunningJob(named: job, settings: settings)
        var orders = running.orders
        let words: String
        switch rate {
        case .off:
            orders.throttle = nil
            words = "\(running.name) asks as much as configured again, within a second"
        case .requestsPerSecond(let rate):
            orders.throttle = RunOrders.Throttle(
                requestsPerSecond: rate, since: invocation.now(), by: RunningUser.actor)
            words =
                "\(running.name) asks each endpoint at most \(rate) times a second, from now on. "
                + "As much as configured again: "
                + common.command("throttle", running.live.job, "off")
        }
        try running.give(orders)
        if common.json {
            try invocation.show(json: orders.json)
        } else {
            try invocation.show(words)
        }
        return .ok
    }
}

/// The rate that `throttle` orders.
package enum RateOption: Hashable, Sendable {
    case off
    case requestsPerSecond(Double)

    /// A call every hundred seconds; whoever wants less pauses the job.
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
                "give a number of requests a second, \(Self.lowest) or more, or \"off\"; who wants "
                    + "none gives \"trueup pause\"")
        }
        self = .requestsPerSecond(rate)
    }
}
