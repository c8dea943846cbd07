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

    package init(key: SubscriptionKey, verdict: Verdict?) {
        self.key = key
        self.verdict = verdict
        self.findings = []
        self.corrections = []
        self.evidence = []
        self.absence = .nothing
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
