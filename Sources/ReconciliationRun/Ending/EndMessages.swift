import Subscriptions

/// The messages for the person on call: why the run ended, what was not changed, what to do next.
extension ExitDecision {
    /// Sentences in the order of importance.
    var messages: [String] {
        var sentences: [String] = []
        if let why = endSentence { sentences.append(why) }
        sentences += suspectedSettings
        sentences += refusalSentences
        if appleAnswered == false {
            sentences.append(
                "Not one call to Apple succeeded\(lastFailureInBrackets). "
                    + (plan.canary == nil
                        ? "No subscription row was changed, and \(unansweredRows). " : "")
                    + "Check the network, the proxy and Apple's system "
                    + "status, then run the job again: \(commands.again)")
        }
        sentences += planSentences
        if let planned { return sentences + planned.messages(commands) }
        sentences += incompleteReadings
        sentences += silentApps.map { app in
            "Apple's notification history of \(app.bundleID) (\(app.environment.rawValue)) is empty "
                + "although subscriptions have changed. Probably no server URL is set in App Store "
                + "Connect (App Information, App Store Server Notifications). Until you set one, runs "
                + "find changes only when a row's due time comes and by the sweep."
        }
        sentences += unverifiedEntries.sorted { $0.key < $1.key }.map { app, count in
            "\(count == 1 ? "1 entry" : "\(count) entries") of the notification history of "
                + "\(app.bundleID) (\(app.environment.rawValue)) did not verify "
                + "(verification_failed in discrepancies.csv). Genuine entries may have been damaged on "
                + "the way, so runs of the next \(RunLimits.unverifiedHistoryDays) days read this part "
                + "again."
                + (suspectedSettings.isEmpty
                    ? " Look for a proxy or firewall between this machine and Apple." : "")
        }
        if judgesNothing, statuses.contains(.empty), let notifications {
            sentences.append(
                "The run read \(notifications) notifications from Apple's history. None of them "
                    + "concerned a row that had to be checked, so nothing was missed. In a job without "
                    + "the step walk, exit status 5 is a success if the table has rows."
            )
        }
        if asksAboutNoRow, roundBefore ?? 0 == 0 {
            sentences.append(
                "No row was checked: none was due, and no sample was drawn. So this run does not show "
                    + "that the rows are right. With a sample in the job file every run checks some "
                    + "rows.")
        }
        if let roundBefore, roundBefore > 0 {
            sentences.append(
                "This run continued the full scan of a stopped run, which had checked \(roundBefore) "
                    + "rows; it did not check these again. The next full scan checks every row.")
        }
        if totals.undecidedCount > 0 {
            // Those that the deadline kept from being checked are in both counts.
            let others = unreached - totals.undecided[.deadline, default: 0]
            sentences.append(
                totals.undecidedCount == 1 && others <= 0
                    ? "1 row could not be checked and was not changed (undecided.csv has the reason). "
                        + "The next run checks it again."
                    : "\(totals.undecidedCount) \(totals.undecidedCount == 1 ? "row" : "rows") could "
                        + "not be checked"
                        + (others > 0 ? ", and \(others) more were not reached. They" : " and")
                        + " were not changed (undecided.csv has the reasons). The next run checks them "
                        + "again.")
        }
        if doubtful > 0 {
            sentences.append(
                "For \(doubtful == 1 ? "1 row" : "\(doubtful) rows") Apple gave an answer that may be "
                    + "wrong once, without a signed statement about "
                    + (doubtful == 1 ? "the row itself" : "the rows themselves")
                    + " (wrong_app, wrong_environment, invalid_id, account_not_found or not_found in "
                    + "discrepancies.csv). The run wrote nothing to "
                    + (doubtful == 1 ? "it" : "them")
                    + ". The next three runs ask Apple again, then one run a week.")
        }
        if let unconfigured = totals.excluded[.appNotConfigured] {
            sentences.append(
                "\(unconfigured) rows belong to no configured app and were not checked. Compare their "
                    + "bundle_id and environment with apps in the settings "
                    + "(\(commands.command("doctor")) counts them), or move them to another table."
            )
        }
        if let inFlight = totals.excluded[.inFlight], inFlight == totals.inScope {
            sentences.append(
                "Apple signed all \(inFlight) rows more recently than settle allows, so none was "
                    + "checked. Shorten settle in the job, or run the job later.")
        }
        return sentences
    }

    /// The fate of the rows when no call succeeded: some runs end before they reach any.
    private var unansweredRows: String {
        totals.inScope > 0 || unreached > 0
            ? "every row counts as undecided" : "the run ended before it reached any row"
    }

    /// About which apps Apple answers nothing, where that did not end the run.
    private var refusalSentences: [String] {
        switch end {
        case .stop(.denied), .stop(.misconfigured): return []
        default: break
        }
        guard !refusedApps.isEmpty else { return [] }
        return refusedApps.sorted { $0.key < $1.key }.map { app, refusal in
            refusal.why
                + " The run made no further call for \(app.bundleID) (\(app.environment.rawValue)) "
                + "and changed none of its rows."
        } + ["The run went through the other apps all the same and checked \(totals.judged) rows."]
    }

    /// Holds for every job; some checkpoints are resumed for a day.
    private static let resumption =
        "A run of this job that starts within \(OpenPass.usualHours) hours resumes it; a later one "
        + "begins again, with the checks that are pending."

    private var lastFailureInBrackets: String {
        guard let lastFailure else { return "" }
        // The sentence before this one may have said it already.
        if case .unavailable(lastFailure) = end { return "" }
        return " (the last one: \(lastFailure))"
    }

    private var notReached: String {
        switch unreached {
        case 0: ""
        case 1: "; 1 row was not reached"
        default: "; \(unreached) rows were not reached"
        }
    }

    private var endSentence: String? {
        switch end {
        case .completed: nil
        case .deadline, .stop(.deadlineReached):
            "The run reached its max_duration\(notReached). The next run of this job checks what "
                + "this one left."
        case .signal(let number):
            "Signal \(number) stopped the run, which kept a checkpoint. " + Self.resumption
        case .stop(.denied(let why)), .stop(.misconfigured(let why)):
            why + " The run made no further call and changed no row after that."
        case .stop(.quotaWaitPastDeadline(let until)):
            "Apple's quota is used up until \(until.rfc3339), after the deadline of this "
                + "run\(notReached). Run the job again after that time, or lower quota_share first: "
                + commands.again
        case .stop(.cancelled): "The run was cancelled and kept a checkpoint. " + Self.resumption
        case .unavailable(let why):
            "Apple does not answer: \(why). The run made no further call\(notReached)."
        case .unreadable(let why):
            why + " Nothing \(plan.canary == nil ? "" : "more ")was changed."
                + (suspectedSettings.isEmpty
                    ? " Before you run the job again, read discrepancies.csv and look for a proxy or "
                        + "firewall between this machine and Apple." : "")
        case .store(let error), .stop(.store(let error)): error.description
        case .refused(let why):
            why + " The run did not begin: no row was changed, and Apple was not asked."
        }
    }
}

/// The commands that the messages of a run name, whole, to be pasted into a shell.
///
/// They are between grave accents, by which the summary knows what it may not break.
package struct RunCommands: Hashable, Sendable {
    /// The words that gave this run, without what lifts guards.
    package var own: [String]
    /// The words that make a new plan of the same kind, writing nothing.
    package var check: [String]
    /// The folder of this run's report; `nil` where it is not known.
    package var report: String?
    /// The arguments that name the same settings in every other command.
    package var settings: [String]

    /// - Parameters:
    ///   - own: The words that gave this run, from the program on.
    ///   - check: The words that make a new plan of the same kind.
    ///   - settings: The words that name the settings; none where they are found without.
    package init(own: [String], check: [String], settings: [String] = []) {
        self.own = own
        self.check = check
        self.settings = settings
    }

    /// This run once more.
    package var again: String { Self.shown(own + settings) }

    /// Looking at the rows again, which leaves a plan.
    package var newPlan: String { Self.shown(check + settings) }

    /// Applying exactly one plan of this run's report.
    ///
    /// - Parameters:
    ///   - seal: The plan.
    ///   - guards: What would stop it, and is lifted.
    ///   - reason: Why, as the ledger keeps it.
    /// - Returns: One line; `nil` where the folder of the report is not known.
    func applying(
        _ seal: PlanSeal, lifting guards: [GuardName], because reason: String
    ) -> String? {
        report.map { report in
            let apply = ["trueup", "apply", report + "/plan.json", "--approve", seal.sha256]
            return Self.shown(apply + Self.lifts(guards, because: reason) + settings)
        }
    }

    private static func shown(_ words: [String]) -> String { "`\(words.shellCommand)`" }

    /// Another command on the same settings.
    ///
    /// - Parameter words: Its words, without the program.
    /// - Returns: One line.
    package func command(_ words: String...) -> String {
        Self.shown(["trueup"] + words + settings)
    }

    /// A run that gets past guards.
    ///
    /// - Parameters:
    ///   - guards: What is lifted.
    ///   - job: Which job instead of this run's own command; `nil` for that.
    ///   - reason: Why, as the ledger keeps it.
    /// - Returns: One line.
    func lifting(_ guards: [GuardName], in job: String? = nil, because reason: String) -> String {
        let words = job.map { ["trueup", "run", $0] } ?? own
        return Self.shown(words + Self.lifts(guards, because: reason) + settings)
    }

    private static func lifts(_ guards: [GuardName], because reason: String) -> [String] {
        guards.isEmpty
            ? [] : guards.flatMap { ["--lift-guard", $0.rawValue] } + ["--reason", reason]
    }
}
