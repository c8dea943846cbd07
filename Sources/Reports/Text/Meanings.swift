import Subscriptions

extension UndecidedReason {
    /// Why a row was not judged, in a few words.
    var meaning: String {
        switch self {
        case .inFlight: "changed too recently at Apple; asked again next run"
        case .rateLimited: "Apple's rate limit (429) did not end in time"
        case .unavailable: "no answer within the retry budget"
        case .undecodable: "an answer that cannot be read"
        case .verificationFailed: "a signature, chain or cross-check failed"
        case .contradiction: "Apple's status contradicts its own signed payload"
        case .idNotInAnswer: "the answer does not contain the id that was asked for"
        case .noSubscriptionInAnswer: "the answer contains no subscription"
        case .newerLocally:
            "Apple signed a later statement about the row than this answer; the next run asks again"
        case .changedDuringRun: "the row moved after it was read"
        case .unknownStatus: "a status that this version does not know"
        case .periodNotShown:
            "what Apple shows of the period is revoked, and it has seats that were not shown"
        case .unreadableValue: "a stored value is not of its column's form; mend it by hand"
        case .deadline: "not reached before the run had to end"
        }
    }
}

extension ExclusionReason {
    /// Why a row was left out, in a few words.
    var meaning: String {
        switch self {
        case .inFlight: "signed more recently than the job's settle time"
        case .seatMember: "a member of a group that you manage: Apple has no subscription of theirs"
        case .appNotConfigured: "its app or environment is not among the configured ones"
        }
    }
}

extension CorrectionFate {
    /// How a correction ended, in a few words.
    var meaning: String {
        switch self {
        case .planned: "not written; they stand in plan.json"
        case .applied: "written, each with its ledger entry"
        case .stale: "not written: the row changed, or Apple signed a newer statement"
        case .rejected: "not written: the database refused"
        case .unproven: "not written: the signed evidence is no longer held"
        case .heldBack: "not written: access goes on by a row that is not in the table yet"
        }
    }
}

extension Direction {
    /// Whom it harms.
    var meaning: String {
        switch self {
        case .customerLoses: "to the harm of customers"
        case .companyLoses: "to the harm of the company"
        case .neutral: "to nobody's harm"
        }
    }
}

extension ExitStatus {
    /// What to do about it; `nil` when there is nothing to do.
    var advice: String? {
        switch self {
        case .ok: nil
        case .findings:
            "Findings at or above the job's fail_on remain. Read those in discrepancies.csv whose state is new, open or "
                + "recurring, and fix them. To keep one as it is: trueup acknowledge."
        case .incomplete:
            "Run the job again: what was not read or reached is taken up again. MESSAGES say what it was."
        case .guarded:
            "Read MESSAGES and plan.json before anything else: what stopped the run, and what waits. "
                + "Find out what changed at Apple or in the table. Raise a guard in the job file "
                + "only if every night will be like this."
        case .empty: "Check the job's narrowing and whether rows were imported."
        case .stale:
            "plan.json names what was left as it is (fate \"stale\"); \"trueup check\" reads it anew."
        case .hungUp, .interrupted, .terminated:
            "Run the job again within \(PassLifetime.usualHours) hours: it resumes its checkpoint. A later run begins "
                + "anew, with the checks that are pending."
        case .denied:
            "Check key_id, issuer_id, the key file and the clock; nothing was judged by it."
        case .protocol:
            "Look at what MESSAGES name: most often a proxy that changes answers, or a setting. Nothing "
                + "was judged by what cannot be verified."
        case .unavailable: "Run the job again when the network, the database and Apple are back."
        case .busy: "Run the job again later."
        case .internal, .failure: "Report this as a bug, with the report folder."
        case .config, .usage, .data: "Mend what the message names and run again."
        case .cannotCreate, .output: "Make room or give the job the right to write, then run again."
        case .tampered: "Keep the folder as it is and find out who changed it."
        }
    }
}

extension RunSummary {
    /// What an exit status means of this run, which came so far as to report: it has its settings, its
    /// key and the lock.
    func meaning(of status: ExitStatus) -> String {
        switch status {
        case .denied: "Apple refuses the key (401)"
        case .busy: whatWasBusy
        case .unavailable:
            hasOnlyFailedCalls
                ? "no call to Apple succeeded" : "the database could not be read or written"
        case .findings where conclusion.exitStatus != .findings:
            // Something graver holds, so it is not complete.
            "findings at or above fail_on remain"
        default: status.meaning
        }
    }

    /// The quota, or what the database waited for: a lock, other transactions, another worker.
    ///
    /// The first message tells why a run ended early, and its first clause what happened.
    private var whatWasBusy: String {
        guard !conclusion.limits.contains("quota") else {
            return "waiting for the quota would pass the deadline"
        }
        let clause = conclusion.messages.first?.firstClause ?? ""
        guard let initial = clause.first else { return "others kept the database locked" }
        return initial.lowercased() + clause.dropFirst()
    }

    private var hasOnlyFailedCalls: Bool {
        let made = conclusion.calls.filter { $0.calls > 0 }
        return !made.isEmpty && !made.contains { ["ok", "not_found"].contains($0.result) }
    }
}

extension String {
    /// The text before the first full stop or semicolon that a space or the end follows.
    fileprivate var firstClause: Substring {
        var place = startIndex
        while let stop = self[place...].firstIndex(where: { $0 == "." || $0 == ";" }) {
            place = index(after: stop)
            if place == endIndex || self[place] == " " { return self[..<stop] }
        }
        return self[...]
    }
}
