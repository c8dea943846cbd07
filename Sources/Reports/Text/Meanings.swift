import Subscriptions

extension UndecidedReason {
    /// The reason why a row was not checked, in a few words.
    var meaning: String {
        switch self {
        case .inFlight: "Apple changed it too recently; the next run checks it again"
        case .rateLimited: "Apple's rate limit (429) did not end in time"
        case .unavailable: "no answer within the retry budget"
        case .undecodable: "Apple's answer cannot be read"
        case .verificationFailed: "a signature, chain or cross-check failed"
        case .contradiction: "Apple's status contradicts its own signed payload"
        case .idNotInAnswer: "the answer does not contain the id that was asked for"
        case .noSubscriptionInAnswer: "the answer contains no subscription"
        case .newerLocally:
            "Apple signed a later statement about the row than this answer; the next run asks again"
        case .changedDuringRun: "the row changed after it was read"
        case .unknownStatus: "a status that this version does not know"
        case .periodNotShown:
            "what Apple shows of the period is revoked, and it has seats that were not shown"
        case .unreadableValue: "a stored value does not have its column's form; fix it by hand"
        case .deadline: "not reached before the run had to end"
        }
    }
}

extension ExclusionReason {
    /// The reason why a row was excluded, in a few words.
    var meaning: String {
        switch self {
        case .inFlight: "signed more recently than the job's settle time"
        case .seatMember: "a member of a group that you manage: Apple has no subscription of theirs"
        case .appNotConfigured: "its app or environment is not among the configured ones"
        }
    }
}

extension UnownedPurchase.Reason {
    /// The reason why the owner of a purchase is not known, in a few words.
    var meaning: String {
        switch self {
        case .tokenChanged: "Apple signed another account token than the row has"
        case .noToken: "the row has no account token, but others of the app have"
        case .noCustomer: "the row has no customer, but others of the app have"
        }
    }
}

extension CorrectionFate {
    /// How a correction ended, in a few words.
    var meaning: String {
        switch self {
        case .planned: "not written; plan.json has them"
        case .applied: "written, each with its ledger entry"
        case .stale: "not written: the row changed, or Apple signed a newer statement"
        case .rejected: "not written: the database refused"
        case .unproven: "not written: the signed evidence is no longer stored"
        case .heldBack: "not written: access continues by a row that the table lacks"
        }
    }
}

extension Direction {
    /// The party that the difference harms.
    var meaning: String {
        switch self {
        case .customerLoses: "to the harm of customers"
        case .companyLoses: "to the harm of the company"
        case .neutral: "without harm to either"
        }
    }
}

extension ExitStatus {
    /// The advice; `nil` when there is nothing to do.
    var advice: String? {
        switch self {
        case .ok: nil
        case .findings:
            "Findings at or above the job's fail_on remain. Read those in discrepancies.csv whose state is new, open or "
                + "recurring, and fix them. To keep one as it is: trueup acknowledge."
        case .incomplete:
            "Run the job again: it reads and checks what is left. MESSAGES say what that is."
        case .guarded:
            "First read MESSAGES (what stopped the run) and plan.json (what it would have written). Find "
                + "out what changed at Apple or in the table. Raise a guard in the job file only if every "
                + "run will be like this."
        case .empty: "Check the filters of the command, and whether rows were imported."
        case .stale:
            "plan.json names the rows that were not changed (fate \"stale\"). \"trueup check\" makes a "
                + "new plan."
        case .hungUp, .interrupted, .terminated:
            "Run the job again within \(OpenPass.usualHours) hours: it resumes its checkpoint. A later run begins "
                + "again, with the checks that are pending."
        case .denied:
            "Check key_id, issuer_id, the key file and the clock. The rows of that app count as not "
                + "checked."
        case .protocol:
            "MESSAGES name the cause: most often a proxy that changes answers, or a wrong setting. The "
                + "run used no answer that it could not verify."
        case .unavailable: "Run the job again when the network, the database and Apple are back."
        case .busy: "Run the job again later."
        case .internal, .failure: "Report this as a bug, with the report folder."
        case .config, .usage, .data: "Fix what the message names and run the job again."
        case .cannotCreate, .output:
            "Free space on the disk, or give the job the right to write, then run it again."
        case .tampered: "Keep the folder as it is and find out who changed it."
        }
    }
}

extension RunSummary {
    /// Returns the meaning of an exit status for this run, which has a report and therefore had its
    /// settings, its key and the lock.
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
        guard let initial = clause.first else { return "another program kept the database locked" }
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
