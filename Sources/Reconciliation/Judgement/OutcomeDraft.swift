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
    /// Why what would be written is held back; see `Restraint`.
    var restraint: String?

    /// Adds findings about a row; one that only agreed so far is discrepant by them.
    mutating func add(_ more: [Difference]) {
        differences += more
        if verdict == .match, more.contains(where: \.contradictsMatch) { verdict = .discrepancy }
    }

    /// Whether something about the row forbids every write to it.
    var forbidsWriting: Bool {
        differences.contains { AllRules.forbidWriting.contains($0.kind) }
    }

    /// Whether Apple's history would tell more of it (policy `when-needed`): the row keeps periods
    /// and the comparison found something, or the current period is not among them.
    var needsHistory: Bool {
        guard let comparison, let periods, periods.areKept else { return false }
        let isCurrentHeld = periods.priced.allSatisfy { period in
            periods.scoped.periods.contains(where: period.includes)
        }
        return comparison.isFirstFill || verdict == .discrepancy || !isCurrentHeld
    }
}
