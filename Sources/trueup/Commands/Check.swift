package import ArgumentParser
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
