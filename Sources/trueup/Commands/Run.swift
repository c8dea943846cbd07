package import ArgumentParser
package import Subscriptions

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
