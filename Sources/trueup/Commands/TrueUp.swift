package import ArgumentParser
package import Subscriptions

/// The program: one verb per file, listed here and nowhere else.
package struct TrueUp: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "trueup",
        abstract: "Compares a company's subscriptions with what Apple states, and corrects them.",
        version: ToolVersion.current,
        subcommands: [
            Init.self,
            Run.self,
            Check.self,
            Pause.self,
            Resume.self,
            Throttle.self,
            Estimate.self,
            Apps.self,
            Show.self,
            Report.self,
            Apply.self,
            Undo.self,
            Acknowledge.self,
            Import.self,
            Export.self,
            Status.self,
            Explain.self,
            Inspect.self,
            Doctor.self,
            Tell.self,
            Erase.self,
            Restored.self,
            Verify.self,
        ])

    package init() {}

    /// Without a verb nothing was done, and a scheduler must not take that for success.
    package func run() throws {
        throw ValidationError("Name a command; \"trueup --help\" lists them.")
    }
}

/// A command of `trueup`: one file per verb.
package protocol Verb: AsyncParsableCommand {
    var common: CommonOptions { get }

    /// Does the work: results to `invocation.output`, everything else to its diagnostics.
    ///
    /// - Returns: how it ended; a failure that ends it early is thrown instead.
    func perform(in invocation: Invocation) async throws -> ExitStatus
}
