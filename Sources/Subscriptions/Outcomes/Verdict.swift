/// What a run says of one row in scope.
///
/// Undecided is never counted as a match.
package enum Verdict: Hashable, Sendable {
    case match
    case discrepancy
    case undecided(UndecidedReason)
    case excluded(ExclusionReason)
}

/// Why a row could not be judged (docs/report-files.md).
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
    /// A stored value of the row is not of its column's form.
    case unreadableValue = "unreadable_value"
    /// Not reached before the run had to end: its deadline, a signal or a stop.
    case deadline
}

/// Why a row was left out on purpose.
package enum ExclusionReason: String, Hashable, Sendable, CaseIterable {
    /// Its `signed_date` is younger than the job's `settle`.
    case inFlight = "in_flight"
    /// Its bundle or environment is not among the configured apps, and no configured app knows it.
    case appNotConfigured = "app_not_configured"
}
