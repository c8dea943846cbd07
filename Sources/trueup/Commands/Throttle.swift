import AppStoreServerAPI
package import ArgumentParser
import SubscriptionStore
package import Subscriptions

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
