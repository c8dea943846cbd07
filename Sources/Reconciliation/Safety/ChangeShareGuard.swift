import Subscriptions

/// `max_change_share`: the plan changes too large a part of the rows.
///
/// In a small table three rows are a large share, hence `min_changes`. A share of 1 is no limit,
/// since a first fill also inserts what is not yet in scope.
struct ChangeShareGuard: PlanGuard {
    let name = GuardName.maxChangeShare

    func objection(to plan: SurveyedPlan, limits: GuardLimits) -> String? {
        let changes = plan.totals.changes
        guard changes >= limits.minChanges, plan.passes(limits.maxChangeShare, by: changes)
        else { return nil }
        return "The plan changes \(changes) of \(plan.inScope) rows in scope; "
            + "max_change_share allows \(limits.maxChangeShare)."
    }
}
