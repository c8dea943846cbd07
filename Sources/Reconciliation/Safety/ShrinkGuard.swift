import Subscriptions

/// `max_shrink_share`: the table has lost too many of its rows since the last run.
///
/// It objects to an empty plan, too: the rows that are left of the table may all match. A size that
/// it objected to is not the one that the next run compares with.
struct ShrinkGuard: PlanGuard {
    let name = GuardName.maxShrinkShare

    func objection(to plan: SurveyedPlan, limits: GuardLimits) -> String? {
        guard let before = plan.totals.tableRowsBefore else { return nil }
        let lost = before - plan.totals.tableRows
        guard lost >= max(1, limits.minChanges), limits.maxShrinkShare < 1,
            Double(lost) > limits.maxShrinkShare * Double(before)
        else { return nil }
        return "The table subscriptions holds \(plan.totals.tableRows) rows; at the last run it "
            + "held \(before), so \(lost) are gone; max_shrink_share allows "
            + "\(limits.maxShrinkShare) of them. Find out who deleted rows, or whether this is the "
            + "right database, before anything else."
    }
}
