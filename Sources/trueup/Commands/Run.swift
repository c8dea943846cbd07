package import ArgumentParser
package import Subscriptions

/// `trueup run JOB`.
package struct Run: Verb {
    package static let configuration = CommandConfiguration(
        abstract: "Runs a job: asks Apple, compares, corrects what it can prove, and reports.",
        discussion: """
            The job file says how much of the rows is asked and whether anything is written. \
            "coverage: delta" asks for all rows in this version, as "full" does. A run that is \
            stopped or killed is continued by the next one of the same job. The job's guards look at \
            the whole plan before the first write; one that objects ends the run with 4, and \
            --lift-guard lets the plan through once.
            """)

    @OptionGroup package var options: RunOptions
    @OptionGroup package var guards: GuardOptions
    @OptionGroup package var common: CommonOptions

    package init() {}

    package func perform(in invocation: Invocation) async throws -> ExitStatus {
        let run = try PreparedRun(
            options, guards: guards, forcing: nil, common: common, in: invocation)
        return try await RunSession(run: run, common: common, invocation: invocation).perform()
    }
}
