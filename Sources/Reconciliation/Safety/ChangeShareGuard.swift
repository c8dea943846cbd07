import Subscriptions

/// `max_change_share`: the plan changes too large a share of the rows.
///
/// `min_changes` exempts small tables, where three rows are a large share. A share of 1 is no
/// limit, because a first fill also inserts rows that are not in scope yet.
struct ChangeShareGuard: PlanGuard {
    let name = GuardName.maxChangeShare

    func objection(to plan: SurveyedPlan, limits: GuardLimits) -> String? {
        let changes = plan.totals.changes
        guard changes >= limits.minChanges, plan.passes(limits.maxChangeShare, by: changes)
        else { return nil }
        return "The plan changes \(changes) of \(plan.coveredInWords); "
            + "max_change_share allows \(limits.maxChangeShare)."
    }
}
