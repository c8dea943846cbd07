import Subscriptions

/// What all rules have in common: a name and a version, which plans state.
///
/// Whoever changes what a rule finds raises its version, so that a plan which is applied a week
/// later still says by which rule it was made. What a rule looks at decides which protocol below it
/// conforms to.
protocol Rule: Sendable {
    static var version: Int { get }
}

extension Rule {
    /// The rule as plans name it: by its type, which is also its file.
    static var identity: RuleVersion {
        RuleVersion(name: String(describing: Self.self), version: version)
    }

    var identity: RuleVersion { Self.identity }
}

/// Decides about a row from its id, app and environment, before any column is compared.
///
/// The first rule with a conclusion ends the judgement of the row, and nothing is written to it.
protocol StandingRule: Rule {
    func conclusion(about scoped: ScopedRow, in context: CaseContext) -> Conclusion?
}

/// A verdict that needs no comparison of columns.
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

/// Decides whether Apple's statement can be compared with a row at all.
///
/// The first doubt ends the judgement of the row: it is undecided, and nothing is written to it.
protocol DoubtRule: Rule {
    func doubt(in comparison: Comparison, policy: Policy) -> Doubt?
}

/// Why a statement decides nothing, and the findings about that.
struct Doubt: Hashable, Sendable {
    var reason: UndecidedReason
    var differences: [Difference]
}

/// Compares our status with Apple's; the first rule in `AllRules.status` that fits is the only one
/// that counts.
protocol StatusRule: Rule {
    func difference(in comparison: Comparison) -> Difference?
}

/// Compares other columns of one row with Apple's statement.
protocol RowRule: Rule {
    func differences(in comparison: Comparison) -> [Difference]
}

/// Compares the stored periods of one subscription with Apple's history.
protocol PeriodRule: Rule {
    func differences(in comparison: PeriodComparison) -> [Difference]
}

/// Compares all subscriptions of one customer with each other.
///
/// It runs only over an answer that contains the asked id. Each finding names the row it concerns.
protocol CustomerRule: Rule {
    func differences(in reading: CustomerReading) -> [Difference]
}

/// Compares one notification of Apple's history with the company's inbox.
protocol NotificationRule: Rule {
    func finding(about item: NotificationCase) -> Finding?
}

/// Prevents the insert of a subscription that is missing, for reasons in the customer's whole
/// answer.
///
/// The finding stays, with the action `refused` and the veto's text as its cause, for a person to
/// decide.
protocol WriteVeto: Sendable {
    /// Why a missing subscription is not inserted; `nil` when this veto has no objection.
    func reason(notToInsert stated: StatedSubscription, in reading: CustomerReading) -> String?
}

/// Stands in plans as the rule of a first fill of a row or of its periods, which has no finding.
enum FirstFill: Rule {
    static let version = 1

    static var applied: AppliedRule { AppliedRule(kind: nil, rule: identity) }
}

/// Stands in plans as the rule of filling in single empty columns of a known row or period, which
/// has no finding.
enum ColumnFill: Rule {
    static let version = 1

    static var applied: AppliedRule { AppliedRule(kind: nil, rule: identity) }
}

extension Sequence<Difference> {
    /// The same differences, each with the rule that found it.
    func found(by rule: any Rule) -> [Difference] {
        map { difference in
            var named = difference
            named.rule = rule.identity
            return named
        }
    }
}
