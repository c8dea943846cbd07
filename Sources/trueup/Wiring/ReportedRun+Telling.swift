import EventDelivery
import ReconciliationRun
import SubscriptionStore
import Subscriptions

/// Telling others, once the run's report stands: nothing of it changes how the run ended.
extension ReportedRun {
    /// How this run tells others, or why it cannot.
    struct Telling {
        /// `nil` for a check, which tells nobody.
        var means: EventTelling?
        /// What keeps the run from telling, with what to do.
        var obstacle: String?
    }

    func telling() -> Telling {
        guard job.mode == .apply, let tell = settings.tell else { return Telling() }
        let isVerbose = common.verbose
        do {
            return Telling(
                means: try EventTelling(
                    tell, environment: invocation.environment, wallClock: invocation.now,
                    shows: { if isVerbose { Self.tell($0.hasSuffix("\n") ? $0 : $0 + "\n") } }))
        } catch {
            return Telling(
                obstacle: "Nobody is told of this run's corrections: "
                    + "\(ErrorReport(error).message). The events wait; mend it, then give "
                    + "\"trueup tell\".")
        }
    }

    /// Says what failed beside the run.
    func warn(_ sentence: String) { say(sentence, level: "warning", at: clock.now()) }

    /// Tells what is due, and says in one line how it went.
    func tellOthers(by telling: EventTelling, from store: SQLiteStore) async {
        do {
            let summary = try await telling.round(
                from: store, at: settings.databasePath, budget: EventTelling.budgetOfRun,
                now: clock.now,
                lockPatienceMilliseconds: 0)
            guard let sentence = summary.sentence else { return }
            let needsAttention = summary.totals.waiting > 0 || summary.totals.givenUp > 0
            if needsAttention || !common.quiet {
                say(sentence, level: needsAttention ? "warning" : "info", at: clock.now())
            }
        } catch RunLockError.held {
            // The other process tells what this run left, too.
            if !common.quiet {
                say("another process tells the events", level: "info", at: clock.now())
            }
        } catch {
            say("the events wait for the next run: \(error)", level: "warning", at: clock.now())
        }
    }

    private func say(_ sentence: String, level: String, at now: Timestamp) {
        guard common.logFormat == .json else {
            return invocation.say((level == "warning" ? "warning: " : "") + sentence)
        }
        invocation.say(
            CanonicalJSON.object([
                "time": .time(now), "level": .string(level), "message": .string(sentence),
            ]).rendered)
    }
}
