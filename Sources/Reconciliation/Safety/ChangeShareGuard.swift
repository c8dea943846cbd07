import Subscriptions

/// `max_change_share`: the plan changes too large a share of the rows.
///
/// Where only due rows were asked about, two shares are held against the limit: that of the whole
/// table, because most due rows are due because something has changed; and that of the rows which
/// were asked about without a sign of a change, because they stand for the rest of the table.
///
/// `min_changes` exempts small tables, where three rows are a large share. A share of 1 is no
/// limit, because a first fill also inserts rows that are not in scope yet.
struct ChangeShareGuard: PlanGuard {
    let name = GuardName.maxChangeShare

    func objection(to plan: SurveyedPlan, limits: GuardLimits) -> String? {
        let share = limits.maxChangeShare
        let changes = plan.totals.changes
        if changes >= limits.minChanges, plan.passes(share, by: changes) {
            return "The plan changes \(changes) of \(plan.coveredInWords); "
                + "max_change_share allows \(share)."
        }
        let routine = plan.totals.routine?.changed ?? 0
        guard routine >= limits.minChanges, let part = plan.routine(passes: share, by: routine)
        else { return nil }
        return "The plan changes \(part); max_change_share allows \(share)."
    }
}
