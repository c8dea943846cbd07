/// The judgement on one subscription: what a run records about it.
package struct RowOutcome: Hashable, Sendable {
    package var key: SubscriptionKey
    /// `nil` when the outcome is about a subscription that we do not hold, or about no row at all:
    /// then it takes no part in the tie-out.
    package var verdict: Verdict?
    package var findings: [Finding]
    package var corrections: [PlannedCorrection]
    /// Every payload that a finding or correction above names by digest.
    package var evidence: [SignedPayload]
    /// What this run learned about the id being absent at Apple.
    package var absence: AbsenceObservation
    /// How much of the row was looked at: an earlier finding that lies beyond stays open.
    package var look: LookDepth
    /// Whether Apple's transactions at hand state what a stored period lacks and this does not
    /// write: then the history must be read from its beginning again.
    package var leavesPeriodsEmpty = false

    package init(key: SubscriptionKey, verdict: Verdict?) {
        self.key = key
        self.verdict = verdict
        self.findings = []
        self.corrections = []
        self.evidence = []
        self.absence = .nothing
        self.look = .nothing
    }
}

/// How much of a row a judgement has looked at; each depth includes those before it.
package enum LookDepth: Int, Hashable, Comparable, Sendable {
    /// Nothing that could tell whether an earlier finding was mended.
    case nothing
    /// Where the row stands: its id, app, environment, and our own rows beside it.
    case standing
    /// Apple's statement, column by column.
    case statement
    /// Apple's complete history, period by period.
    case periods

    package static func < (left: LookDepth, right: LookDepth) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// What an answer says about whether Apple still knows an id.
package enum AbsenceObservation: Hashable, Sendable {
    /// Not asked, or no usable answer: earlier nights stand as they are.
    case nothing
    /// Apple knows it: earlier absences are forgotten.
    case present
    /// TransactionIdNotFound on this UTC day.
    case absent(day: String)
}
