package import ArgumentParser
package import Subscriptions

/// A command of `trueup`: one file per verb.
package protocol Verb: AsyncParsableCommand {
    var common: CommonOptions { get }

    /// Does the work: results to `invocation.output`, everything else to its diagnostics.
    ///
    /// - Returns: how it ended; a failure that ends it early is thrown instead.
    func perform(in invocation: Invocation) async throws -> ExitStatus
}
