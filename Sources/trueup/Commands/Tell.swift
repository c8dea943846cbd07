import ArgumentParser
import EventDelivery
import SubscriptionStore
import Subscriptions

/// `trueup tell`: tells others of corrections that still wait, without a run.
struct Tell: Verb {
    static let configuration = CommandConfiguration(
        commandName: "tell",
        abstract: "Deliver due events to the configured webhook or command.",
        discussion: """
            Every run that writes does this at its end. An event whose delivery failed is due again \
            after 5, 10, 20, 40 and 80 minutes; run this command every five minutes to deliver it in \
            time. After the sixth failure trueup gives the event up and keeps it. "trueup notify" is \
            another name of the command.
            """,
        aliases: ["notify"])

    /// Less than the five minutes after which a scheduler starts the next one.
    private static let budget = Duration.seconds(240)

    @Flag(
        help: "First put events that were given up back into the queue.")
    var retryGivenUp = false

    @Option(help: .rehearsal)
    var now: Timestamp?

    @OptionGroup var dry: DryRunOption
    @OptionGroup(title: "For every command") var common: CommonOptions

    static let exitStatuses = CommandStatuses(
        [CommandStatuses.database],
        [
            .ok: "no event that is due is left", .incomplete: "a due event could not be delivered",
            .denied: "other users can read the file of the secret",
            .busy: "another process delivers the events, or updates the database",
        ])

    func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try common.settings(in: invocation)
        guard let tell = settings.notify else {
            throw ConfigurationError(
                file: settings.file, key: "tell",
                problem: "is missing: no receiver of events is configured",
                suggestion: "add tell with a url or a command")
        }
        let clock = try invocation.clock(startingAt: now, settings: settings)
        guard !dry.dryRun else { return try showDryRun(settings, at: clock(), in: invocation) }
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

    /// Counts what waits; delivers nothing.
    private func showDryRun(
        _ settings: Settings, at now: Timestamp, in invocation: Invocation
    ) throws -> ExitStatus {
        let outbox = try Books(settings).openToRead(at: invocation.now())
            .overview(runs: 0, at: now).outbox
        let due =
            outbox.nextAttempt.map {
                $0 <= now ? ", the first of them now" : ", the first of them at \($0.rfc3339)"
            } ?? ""
        let retried = retryGivenUp ? outbox.givenUp : 0
        return try dry.show(
            .object(["outbox": outbox.json, "retried": .count(retried)]),
            "\(outbox.waiting) events wait for delivery\(due). "
                + (retryGivenUp
                    ? "\(retried) that were given up would be put back into the queue. " : "")
                + "Nothing was delivered.",
            common, in: invocation)
    }

    private func deliver(
        by notifier: EventNotifier, _ settings: Settings,
        _ clock: @escaping @Sendable () -> Timestamp,
        in invocation: Invocation
    ) async throws -> ExitStatus {
        // Events may be delivered while a run is active.
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
        // A scheduler calls this every five minutes: with --quiet, nothing to do is not worth a line.
        let sentence = summary.sentence ?? (common.quiet ? nil : "No event is due.")
        guard common.json || sentence != nil else { return }
        try common.show(
            .object([
                "told": .count(summary.delivered), "failed": .count(summary.failed),
                "gave_up": .count(summary.gaveUp), "retried": .count(retried),
                "outbox": summary.totals.json,
            ]), [sentence].compactMap(\.self), in: invocation)
    }
}

extension OutboxTotals {
    /// For machines, the same wherever it is shown.
    var json: CanonicalJSON {
        .object([
            "told": .count(delivered), "waiting": .count(waiting),
            "given_up": .count(givenUp), "erased": .count(erased),
            "next_attempt": .time(nextAttempt),
            "last_error": .text(lastError),
        ])
    }
}
