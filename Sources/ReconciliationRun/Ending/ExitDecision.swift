import Reconciliation
package import Subscriptions

/// The reason why the asking ended.
package enum RunEnd: Hashable, Sendable {
    /// Everything in scope was asked.
    case completed
    /// `max_duration` passed, or what was still to be asked would have come after it.
    case deadline
    case signal(Int32)
    case stop(RunStop)
    /// Apple did not answer for as long as the run may wait for it.
    case unavailable(String)
    /// Answers that cannot be read or trusted (exit 76).
    case unreadable(String)
    case store(StoreError)
    /// A program of the company's kept the run from beginning, for this reason (exit 4).
    case refused(String)

    package init(_ stop: RunStop) {
        switch stop {
        case .deadlineReached: self = .deadline
        case .store(let error): self = .store(error)
        case .denied, .misconfigured, .quotaWaitPastDeadline, .cancelled: self = .stop(stop)
        }
    }

    /// Whether requests that are in flight, or whose turn comes before the deadline, may finish.
    ///
    /// Every other request notices itself that the deadline has passed.
    var letsOthersFinish: Bool {
        switch self {
        case .deadline, .stop(.quotaWaitPastDeadline): true
        case .completed, .signal, .stop, .unavailable, .unreadable, .store, .refused: false
        }
    }

    /// Whether what was checked may still be planned and applied.
    ///
    /// After a deadline or an outage the collected evidence is good. After a refused key,
    /// unverifiable answers, a database error or a signal nothing more is written.
    package var allowsApplying: Bool {
        switch self {
        case .completed, .deadline, .unavailable, .stop(.quotaWaitPastDeadline): true
        case .signal, .stop, .unreadable, .store, .refused: false
        }
    }

    /// The reason why a row that was not reached is undecided: the run ended it, or Apple answered
    /// nothing.
    package var reasonOfUnreached: UndecidedReason {
        switch self {
        case .stop(.denied), .stop(.misconfigured), .unavailable, .unreadable: .unavailable
        case .completed, .deadline, .signal, .stop, .store, .refused: .deadline
        }
    }

    /// Whether the next run of the job continues where this one ended.
    package var leavesPassOpen: Bool {
        switch self {
        case .completed, .unreadable: false
        case .deadline, .signal, .stop, .unavailable, .store, .refused: true
        }
    }
}

/// Everything that decides how a run ends, as a value.
struct ExitDecision: Hashable, Sendable {
    var end: RunEnd
    /// Whether Apple answered anything at all; `nil` when nothing had to be asked.
    var appleAnswered: Bool?
    /// The last failure of a call, for people; `nil` where none failed.
    var lastFailure: String?
    /// Settings that every answer contradicts, in sentences.
    var suspectedSettings: [String] = []
    /// Apps about which Apple answers nothing, each with why; the other apps were asked all the
    /// same.
    var refusedApps: [AppIdentity: AppRefusal] = [:]
    /// Rows in scope that were not checked.
    var unreached = 0
    /// Rows in the table, where only those with a reason were checked.
    var coveredRows: Int?
    /// Whether the run looks after one-time purchases, which are checked apart from the rows.
    var holdsPurchases = false
    /// Rows that earlier runs of the same full scan had checked; `nil` for a run that continued
    /// none.
    var roundBefore: Int?
    var totals: RunTotals
    /// Subscriptions of which the plan writes a row; one that is inserted is in no total.
    var changes = 0
    /// Checked rows with an answer that may be wrong once.
    var doubtful = 0
    var walks: Bool
    var unresolved: [Severity: Int]
    var failOn: Severity?
    /// The result of the guards; a check has nothing to stop, so it only reports them.
    var plan: PlanOutcome
    var mode: RunMode
    /// The job's name and the run's, for the commands that the messages name.
    var job: String
    var runID: String
    /// The commands of the command line that gave the run; `nil` where there was none.
    var givenCommands: RunCommands?
    /// Histories, of notifications or of transactions, that could not be read to their end.
    var incompleteReadings: [String]
    /// How many notifications the histories held; `nil` where none was read.
    var notifications: Int?
    /// Apps whose notification history holds nothing, although rows had changed.
    var silentApps: [AppIdentity] = []
    /// How many entries of an app's notification history did not verify, where any did not and a
    /// watermark waits for them.
    var unverifiedEntries: [AppIdentity: Int] = [:]
    /// Set when the run worked off a plan or reverted a run, and checked nothing itself.
    var planned: PlannedEnding?

    /// The commands that the messages name.
    var commands: RunCommands {
        get {
            givenCommands
                ?? RunCommands(
                    own: ["trueup", mode == .check ? "check" : "run", job],
                    check: ["trueup", "check", job])
        }
        set { givenCommands = newValue }
    }

    /// Every status that holds.
    var statuses: [ExitStatus] {
        var held: [ExitStatus] = []
        switch end {
        case .completed: break
        case .deadline, .stop(.deadlineReached): held.append(.incomplete)
        case .signal(1): held.append(.hungUp)
        case .signal(15): held.append(.terminated)
        case .signal: held.append(.interrupted)
        case .stop(.denied): held.append(.denied)
        case .stop(.misconfigured): held.append(.config)
        case .stop(.quotaWaitPastDeadline): held += [.busy, .incomplete]
        case .stop(.cancelled): held.append(.incomplete)
        case .unavailable: held.append(.incomplete)
        case .unreadable: held.append(.protocol)
        case .refused: held.append(.guarded)
        case .store(let error), .stop(.store(let error)): held.append(error.exitStatus)
        }
        held += refusedApps.values.map(\.status)
        if appleAnswered == false, held.allSatisfy({ $0 == .incomplete }) {
            held.append(.unavailable)
        }
        if !plan.breaches.isEmpty, mode == .apply { held.append(.guarded) }
        switch plan.canary {
        case .differs: held.append(.guarded)
        case .undecided, .notBegun: held.append(.incomplete)
        case .agrees, .interrupted, nil: break
        }
        if let planned {
            held += planned.statuses
            return ExitStatus.allCases.filter(Set(held).contains)
        }
        if totals.undecidedCount > 0 || !incompleteReadings.isEmpty { held.append(.incomplete) }
        let unconfigured = totals.excluded[.appNotConfigured] ?? 0
        if unconfigured > 0 || (totals.inScope > 0 && totals.judged == 0) {
            // Left out without anybody having asked for it, or nothing judged at all.
            held.append(.incomplete)
        }
        if let failOn, unresolved.contains(where: { $0.key >= failOn && $0.value > 0 }) {
            held.append(.findings)
        }
        if asksAboutNoRow {
            // Nothing was checked, so nothing is known to be right.
            held.append(.incomplete)
        } else if walks, end == .completed, totals.inScope == 0, changes == 0, !holdsPurchases {
            held.append(.empty)
        }
        if judgesNothing, held.isEmpty { held.append(.empty) }
        return ExitStatus.allCases.filter(Set(held).contains)
    }

    /// Whether the run came to its end without a reason to ask about any row of the table.
    var asksAboutNoRow: Bool {
        walks && planned == nil && end == .completed && totals.inScope == 0
            && coveredRows ?? 0 > 0
    }

    /// Whether a run that only reads notifications came to its end, and none of them led to a row.
    ///
    /// A finding apart from the rows (a subscription without a row) decides before that, and a
    /// row that it inserts was in scope.
    var judgesNothing: Bool {
        !walks && planned == nil && end == .completed && totals.inScope == 0 && changes == 0
    }
}
