package import ArgumentParser
import SubscriptionStore
package import Subscriptions

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
