import Subscriptions

/// The judgement on one subscription before it is decided what is reported and written of it.
struct OutcomeDraft: Sendable {
    let key: SubscriptionKey
    var verdict: Verdict?
    var differences: [Difference] = []
    var absence = AbsenceObservation.nothing
    /// The row beside Apple's statement, where it was compared.
    var comparison: Comparison?
    var periods: PeriodComparison?
    /// The row to insert, where it is missing and nothing speaks against it.
    var insertion: MissingRow?
    /// Why what would be written is held back; see `Restraint` and `orderLosses`.
    var restraint: String?
    /// The subscriptions by which access goes on that this row's correction ends.
    var continuedBy: [String] = []

    /// Adds findings about a row; one that only agreed so far is discrepant by them.
    mutating func add(_ more: [Difference]) {
        differences += more
        if verdict == .match, more.contains(where: \.contradictsMatch) { verdict = .discrepancy }
    }

    /// How much of the row was looked at.
    var look: LookDepth {
        guard verdict == .match || verdict == .discrepancy else { return .nothing }
        guard comparison != nil else { return .standing }
        return periods?.isComplete == true ? .periods : .statement
    }

    /// Whether something about the row forbids every write to it.
    var forbidsWriting: Bool {
        differences.contains { AllRules.forbidWriting.contains($0.kind) }
    }

    /// Whether Apple's history would tell more of it (policy `when-needed`): the row keeps periods
    /// and the comparison found something, the current period is not among them, one of them has
    /// columns that are not known yet, or what they are now has not been held against the whole
    /// history.
    func needsHistory(policy: Policy) -> Bool {
        guard let comparison, let periods else { return false }
        if comparison.scoped.needsWholeHistory { return true }
        guard periods.areKept else { return false }
        let isCurrentHeld = periods.priced.allSatisfy { period in
            periods.scoped.periods.contains(where: period.includes)
        }
        return comparison.isFirstFill || verdict == .discrepancy || !isCurrentHeld
            || (fillsPeriods(policy: policy) && periods.lackStatements(policy: policy))
    }
}
