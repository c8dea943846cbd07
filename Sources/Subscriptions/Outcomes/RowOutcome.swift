/// The decisions and records of a run about one subscription.
package struct RowOutcome: Hashable, Sendable {
    package var key: SubscriptionKey
    /// `nil` when the outcome is not about a stored row; then it does not count in the totals.
    package var verdict: Verdict?
    package var findings: [Finding] = []
    package var corrections: [PlannedCorrection] = []
    /// Every payload whose digest a finding or correction above names.
    package var evidence: [SignedPayload] = []
    /// Whether Apple knows the id, as far as this run learned it.
    package var absence = AbsenceObservation.nothing
    /// How much of the row was examined: an earlier finding about anything beyond stays open.
    package var examined = ExaminationDepth.nothing
    /// Whether stored periods keep empty columns that Apple's transactions could have filled.
    ///
    /// Then the history must be read from its beginning again.
    package var leavesPeriodsEmpty = false
    /// By what the row was checked; `nil` where it was not, or would not stand after the run.
    package var check: RowCheck?
    /// When Apple signed the verified statement about the subscription that this rests on, whatever
    /// the verdict; `nil` without one.
    package var statedAt: Timestamp?
    /// Whose the row is and what they pay for; `nil` where it was not checked, or is nobody's.
    package var payer: Payer?
    /// The reason why Apple was asked; `nil` where it was not asked.
    package var askedBecause: QuestionReason?
    /// The row's part of the control totals; `nil` where it was not checked.
    package var figures: RowFigures?
    /// Whether the outcome rests on an answer that may be wrong once, so that Apple must be asked
    /// again whatever the verdict is.
    package var isDoubtful = false
    /// Whether the customer's history was needed and could not be read to its end, so that the next
    /// run must read it.
    package var lacksHistory = false
    /// The one-time purchase that this is about, in place of a row.
    package var purchase: JudgedPurchase?

    package init(key: SubscriptionKey, verdict: Verdict?) {
        self.key = key
        self.verdict = verdict
    }
}

/// How much of a row was examined; each depth includes those before it.
package enum ExaminationDepth: Int, Hashable, Comparable, Sendable {
    /// Nothing that shows whether an earlier finding is gone.
    case nothing
    /// The row's id, app and environment, and our own other rows.
    case standing
    /// Apple's statement, column by column.
    case statement
    /// Apple's complete history, period by period.
    case periods

    package static func < (left: ExaminationDepth, right: ExaminationDepth) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// Whether Apple still knows an id.
package enum AbsenceObservation: Hashable, Sendable {
    /// Not asked, or no usable answer: what earlier runs recorded stays.
    case nothing
    /// Apple knows it: recorded absences are forgotten.
    case present
    /// TransactionIdNotFound on this UTC day.
    case absent(day: String)
}

/// The result of checking one row in scope.
///
/// An undecided row never counts as a match.
package enum Verdict: Hashable, Sendable {
    case match
    case discrepancy
    case undecided(UndecidedReason)
    case excluded(ExclusionReason)
}

/// The reason why a row could not be checked (docs/report-files.md).
package enum UndecidedReason: String, Hashable, Sendable, CaseIterable {
    case inFlight = "in_flight"
    case rateLimited = "rate_limited"
    case unavailable
    case undecodable
    case verificationFailed = "verification_failed"
    case contradiction
    case idNotInAnswer = "id_not_in_answer"
    case noSubscriptionInAnswer = "no_subscription_in_answer"
    case newerLocally = "newer_locally"
    case changedDuringRun = "changed_during_run"
    case unknownStatus = "unknown_status"
    /// Every transaction of the period that Apple shows is revoked, and there are others of it that
    /// were not shown.
    case periodNotShown = "period_not_shown"
    /// A stored value of the row does not have its column's type.
    case unreadableValue = "unreadable_value"
    /// Not reached before the run had to end: its deadline or a signal. After a refused key, an
    /// outage or answers that cannot be read it is `unavailable`.
    case deadline
}

/// The reason why a row was excluded on purpose.
package enum ExclusionReason: String, Hashable, Sendable, CaseIterable {
    /// Its `signed_date` is younger than the job's `settle`.
    case inFlight = "in_flight"
    /// Its bundle or environment is not among the configured apps, and no configured app knows it.
    case appNotConfigured = "app_not_configured"
    /// A member's of a group that the developer manages: Apple has no subscription of theirs.
    case seatMember = "seat_member"
}

/// The results of one page of the walk, or of one touched customer.
package struct StagedBatch: Hashable, Sendable {
    package var outcomes: [RowOutcome]
    /// Rows to ask once more at the end (5000000); they are settled as undecided until then.
    package var asksAgain: [SubscriptionKey] = []
    /// How far a customer's history was read, by subscription.
    package var historyMarks: [SubscriptionKey: HistoryMark] = [:]
    /// The walk's position afterwards; `nil` when the batch is not a page of the walk.
    package var walkedThrough: SubscriptionKey?
    /// Whether outcomes take the place of earlier ones of the same rows.
    package var replaces = false

    /// About how many rows of trueup's database it takes to store it.
    package var writes: Int {
        outcomes.reduce(0) {
            $0 + 1 + $1.corrections.count + $1.evidence.count + $1.findings.count
        }
    }

    package init(outcomes: [RowOutcome] = []) { self.outcomes = outcomes }
}
