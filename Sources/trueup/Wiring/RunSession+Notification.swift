import EventDelivery
import Reconciliation
import ReconciliationRun
import SubscriptionStore
import Subscriptions

/// Notifies the configured receiver, once the run's report is published.
///
/// None of it fails the run: an event that was not delivered waits for the next one.
extension RunSession {
    /// The notifier of this run, or why there is none.
    struct Notifier {
        /// `nil` for a check, which has nothing to say, and where no receiver is configured.
        var events: EventNotifier?
        /// What keeps the run from notifying, with what to do.
        var obstacle: String?
    }

    /// How corrections are named as events; `nil` when no events are sent.
    var eventNaming: EventNaming? {
        guard run.job.mode == .apply, let settings = run.settings.notify else { return nil }
        return BillingEventRule.naming(of: settings.events)
    }

    func notifier() -> Notifier {
        guard run.job.mode == .apply, let settings = run.settings.notify else { return Notifier() }
        do {
            return Notifier(
                events: try EventNotifier(settings, isVerbose: common.verbose, in: invocation))
        } catch {
            return Notifier(
                obstacle: "Nobody is told of this run's corrections: "
                    + "\(ErrorReport(error).message). The events wait; mend it, then give "
                    + "\"trueup tell\".")
        }
    }

    /// Delivers what is due, and says in one line how it went.
    func notify(by notifier: Notifier, from store: SQLiteStore, after status: ExitStatus) async {
        if let obstacle = notifier.obstacle { warn(obstacle) }
        let isStopped = [.hungUp, .interrupted, .terminated].contains(status)
        guard let events = notifier.events, !isStopped else { return }
        do {
            let summary = try await events.deliver(
                from: store, at: run.settings.databasePath, budget: EventNotifier.budgetOfRun,
                now: run.clock.now, lockPatienceMilliseconds: 0)
            guard let sentence = summary.sentence else { return }
            let needsAttention = summary.totals.waiting > 0 || summary.totals.givenUp > 0
            if needsAttention || !common.quiet {
                say(sentence, level: needsAttention ? "warning" : "info")
            }
        } catch RunLockError.held {
            // The other process delivers what this run left, too.
            if !common.quiet { say("another process tells the events", level: "info") }
        } catch {
            warn("the events wait for the next run: \(error)")
        }
    }

    /// Reports what failed apart from the run itself.
    func warn(_ sentence: String) { say(sentence, level: "warning") }

    private func say(_ sentence: String, level: String) {
        guard common.logFormat == .json else {
            return invocation.say((level == "warning" ? "warning: " : "") + sentence)
        }
        invocation.say(
            json: .object([
                "time": .time(run.clock.now()), "level": .string(level),
                "message": .string(sentence),
            ]))
    }
}
