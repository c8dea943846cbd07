package import Subscriptions

/// One limit on a whole plan, checked before its first write.
protocol PlanGuard: Sendable {
    var name: GuardName { get }

    /// What is wrong with the plan; `nil` when it may go on.
    func objection(to plan: SurveyedPlan, limits: GuardLimits) -> String?
}

/// Every guard, in the order in which a person reads them: what the plan would do first, then what
/// it rests on.
enum AllGuards {
    static let list: [any PlanGuard] = [
        ShrinkGuard(), OwnFaultGuard(), DirectionGuard(), ChangeCountGuard(), ChangeShareGuard(),
        ExclusionGuard(), NotFoundGuard(), VerificationGuard(),
    ]
}

/// A plan as the guards see it: counted by the store, surveyed correction by correction.
package struct SurveyedPlan: Hashable, Sendable {
    package var totals: PlanTotals
    package var survey: PlanSurvey

    package init(totals: PlanTotals, survey: PlanSurvey = PlanSurvey()) {
        self.totals = totals
        self.survey = survey
    }

    var inScope: Int { totals.totals.inScope }

    /// Whether so many rows pass a share of the rows in scope.
    ///
    /// A share of no rows at all is passed by any change; a share of 1 is no limit.
    func passes(_ share: Double, by rows: Int) -> Bool {
        share < 1 && Double(rows) > share * Double(inScope)
    }
}
