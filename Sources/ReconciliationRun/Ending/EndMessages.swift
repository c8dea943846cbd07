import Subscriptions

/// What the person on call reads: why it ended, what was not changed, what to do next.
extension ExitDecision {
    /// Sentences in the order of importance.
    package var messages: [String] {
        var sentences: [String] = []
        if let why = endSentence { sentences.append(why) }
        if appleAnswered == false {
            sentences.append(
                "Not one call to Apple succeeded. No subscription row was changed; every row "
                    + "counts as undecided. Check the network, the proxy and Apple's system "
                    + "status, then run the job again.")
        }
        sentences += planSentences
        if let planned { return sentences + planned.messages }
        sentences += incompleteReadings
        if totals.undecidedCount > 0 {
            sentences.append(
                "\(totals.undecidedCount) rows could not be judged and were left as they are "
                    + "(undecided.csv says why); the next run asks for them again.")
        }
        return sentences
    }

    private var endSentence: String? {
        switch end {
        case .completed: nil
        case .deadline:
            "The run reached its max_duration; the next run of this job goes on from there."
        case .signal(let number):
            "Stopped by signal \(number) with a checkpoint kept; the next run goes on from there."
        case .stop(.denied(let why)): why + " No further call was made; no row was changed by it."
        case .stop(.misconfigured(let why)): why
        case .stop(.quotaWaitPastDeadline(let until)):
            "Apple's quota is used up until \(until.rfc3339), which is past this run's deadline. "
                + "Run the job again after that, or lower quota_share."
        case .stop(.cancelled): "The run was cancelled; the next run goes on from there."
        case .unavailable(let why): "Apple stopped answering: \(why). The rest was not asked."
        case .unreadable(let why):
            why + " Nothing \(plan.canary == nil ? "" : "more ")was changed. Look at "
                + "discrepancies.csv and at what stands between this machine and Apple before "
                + "running again."
        case .store(let error): error.description
        }
    }
}
