package import ArgumentParser
import EventDelivery
import SubscriptionStore
package import Subscriptions

/// `trueup tell`: tells others of corrections that still wait, without a run.
package struct Tell: Verb {
    package static let configuration = CommandConfiguration(
        commandName: "tell",
        abstract: "Tell the configured receiver of corrections that it has not been told of yet.",
        discussion: """
            Every run that corrects does the same at its end. An event that fails is due again \
            after 5, 10, 20, 40 and 80 minutes; call this every five minutes to keep to that \
            between two runs. After the sixth failure an event is given up and kept. Exit status \
            3 says that something which was due could not be told. "trueup notify" is the same.
            """,
        aliases: ["notify"])

    /// Less than the five minutes after which a scheduler starts the next one.
    private static let budget = Duration.seconds(240)

    @Flag(
        name: .customLong("retry-given-up"),
        help: "First let the events that were given up wait again, from the first attempt.")
    package var retryGivenUp = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Rehearse as if it were this time (RFC 3339); for loopback endpoints only.",
            valueName: "time"))
    package var now: TimeOption?

    @OptionGroup(title: "For every command") package var common: CommonOptions

    package init() {}

    package func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try Settings.load(
            flag: common.config, environment: invocation.environment)
        guard let tell = settings.notify else {
            throw ConfigurationError(
                file: settings.file, key: "tell", problem: "is missing: there is nobody to tell",
                suggestion: "add tell with a url or a command")
        }
        let clock = try invocation.clock(startingAt: now, settings: settings)
        let notifier = try EventNotifier(tell, isVerbose: common.verbose, in: invocation)
        let ending: Result<ExitStatus, any Error>
        do {
            ending = .success(
                try await deliver(by: notifier, settings, clock, in: invocation))
        } catch {
            ending = .failure(error)
        }
        await notifier.shutdown()
        return try ending.get()
    }

    private func deliver(
        by notifier: EventNotifier, _ settings: Settings,
        _ clock: @escaping @Sendable () -> Timestamp,
        in invocation: Invocation
    ) async throws -> ExitStatus {
        // Events may be delivered while a run goes on.
        let books = try Books(settings, holder: RunningUser.lockHolder(doing: "telling"))
        defer { books.releaseUnlessRunGoesOn() }
        try books.bringUpToDate(
            at: invocation.now(), waitMilliseconds: invocation.lockPatienceMilliseconds)
        let store = try books.openToWrite()
        let retried = retryGivenUp ? try await store.retryGivenUp(at: clock()) : 0
        let summary = try await notifier.deliver(
            from: store, at: settings.databasePath, budget: Self.budget, now: clock,
            lockPatienceMilliseconds: invocation.lockPatienceMilliseconds)
        try show(summary, retried: retried, in: invocation)
        return summary.isIncomplete ? .incomplete : .ok
    }

    private func show(
        _ summary: DeliverySummary, retried: Int, in invocation: Invocation
    ) throws {
        guard common.json else {
            // A scheduler calls this every five minutes: with --quiet, nothing to do is not worth a line.
            if let sentence = summary.sentence ?? (common.quiet ? nil : "nothing to tell") {
                try invocation.show(sentence)
            }
            return
        }
        try invocation.show(
            json: CanonicalJSON.object([
                "told": .integer(Int64(summary.told)),
                "failed": .integer(Int64(summary.failed)),
                "gave_up": .integer(Int64(summary.gaveUp)),
                "retried": .integer(Int64(retried)),
                "outbox": summary.totals.json,
            ]))
    }
}

extension OutboxTotals {
    /// For machines, the same wherever it is shown.
    var json: CanonicalJSON {
        .object([
            "told": .integer(Int64(told)), "waiting": .integer(Int64(waiting)),
            "given_up": .integer(Int64(givenUp)), "erased": .integer(Int64(erased)),
            "next_attempt": .time(nextAttempt),
            "last_error": .text(lastError),
        ])
    }
}
