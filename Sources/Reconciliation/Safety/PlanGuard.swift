package import Subscriptions

/// One limit on a whole plan, checked before its first write.
protocol PlanGuard: Sendable {
    var name: GuardName { get }

    /// What is wrong with the plan, in sentences; `nil` when the guard lets it pass.
    func objection(to plan: SurveyedPlan, limits: GuardLimits) -> String?
}

/// Every guard, in the order of its messages: first about what the plan would do, then about what
/// the plan is based on.
enum AllGuards {
    static let list: [any PlanGuard] = [
        ShrinkGuard(), OwnFaultGuard(), DirectionGuard(), ChangeCountGuard(), ChangeShareGuard(),
        ExclusionGuard(), NotFoundGuard(), VerificationGuard(),
    ]
}

extension GuardLimits {
    /// The objections of every guard; empty when the plan may be written.
    package func breaches(by plan: SurveyedPlan) -> [GuardBreach] {
        AllGuards.list.compactMap { planGuard in
            planGuard.objection(to: plan, limits: self).map {
                GuardBreach(name: planGuard.name, sentence: $0)
            }
        }
    }
}

/// The objection of one guard to a plan.
package struct GuardBreach: Hashable, Sendable {
    package var name: GuardName
    /// Whole sentences with both numbers, what was found and what is allowed.
    package var sentence: String

    package init(name: GuardName, sentence: String) {
        self.name = name
        self.sentence = sentence
    }

    /// For messages: `guard max_changes: The plan changes …`.
    package var named: String { "guard \(name.rawValue): \(sentence)" }
}

/// A plan as the guards see it: its counts from the store, and what its corrections have in common.
package struct SurveyedPlan: Hashable, Sendable {
    package var totals: PlanTotals
    package var survey: PlanSurvey

    package init(totals: PlanTotals, survey: PlanSurvey = PlanSurvey()) {
        self.totals = totals
        self.survey = survey
    }

    /// The rows that a share is of: those in scope, and where only due rows were asked about also
    /// the quiet ones.
    var covered: Int { totals.coveredRows }

    /// `1,000 rows in scope`, as the sentences say it.
    var coveredInWords: String {
        "\(covered) rows \(covered == totals.totals.inScope ? "in scope" : "covered")"
    }

    /// Whether so many rows exceed a share of the rows covered.
    ///
    /// With no row covered any change exceeds it. A share of 1 is no limit.
    func passes(_ share: Double, by rows: Int) -> Bool {
        share < 1 && Double(rows) > share * Double(covered)
    }

    /// The same among the rows that were asked about without a sign of a change, in words; `nil`
    /// where the share is kept, or every row was asked about.
    ///
    /// These rows stand for those about which nobody was asked.
    func routine(passes share: Double, by rows: Int) -> String? {
        guard share < 1, let routine = totals.routine, Double(rows) > share * Double(routine.judged)
        else { return nil }
        return "\(rows) of \(routine.judged) rows that were asked about as a matter of routine "
            + "(sweep, sample), and so perhaps as large a part of the others"
    }
}

/// What the corrections of a plan have in common, gathered one by one.
///
/// Its size does not depend on the number of corrections.
package struct PlanSurvey: Hashable, Sendable {
    private(set) var access = AccessChanges()
    /// The same, of rows asked about as a matter of routine.
    private(set) var routineAccess = AccessChanges()
    private(set) var faults = OwnFaults()

    package init() {}

    package mutating func add(_ correction: PlannedCorrection, askedBecause: QuestionReason?) {
        access.add(correction)
        if askedBecause?.isRoutine == true { routineAccess.add(correction) }
        faults.add(correction)
    }
}

/// For how many rows a plan ends access, and for how many it gives access.
///
/// Inserts, and rows whose status was not known, count as neither.
struct AccessChanges: Hashable, Sendable {
    private(set) var ended = 0
    private(set) var given = 0

    mutating func add(_ correction: PlannedCorrection) {
        guard case .update = correction.target,
            let change = correction.changes.ofSubscription[.status],
            let ours = change.before.isEntitlingStatus, let apple = change.after.isEntitlingStatus
        else { return }
        if ours, !apple { ended += 1 }
        if !ours, apple { given += 1 }
    }
}
