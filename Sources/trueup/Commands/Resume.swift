package import ArgumentParser
import SubscriptionStore
package import Subscriptions

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
