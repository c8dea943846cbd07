import Subscriptions

/// A rule on where a row stands with Apple before anything can be compared.
///
/// The first rule that concludes ends the judgement of the row; nothing is ever written to it.
protocol StandingRule: Rule {
    func conclusion(about scoped: ScopedRow, in context: CaseContext) -> Conclusion?
}

/// A verdict that follows without comparing any column.
struct Conclusion: Hashable, Sendable {
    var verdict: Verdict
    var differences: [Difference] = []
    var absence = AbsenceObservation.nothing

    static func undecided(_ reason: UndecidedReason) -> Conclusion {
        Conclusion(verdict: .undecided(reason))
    }

    static func discrepancy(_ difference: Difference) -> Conclusion {
        Conclusion(verdict: .discrepancy, differences: [difference])
    }
}
