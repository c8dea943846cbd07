import Subscriptions

/// `max_changes`: the plan changes more subscriptions than a night ever should.
struct ChangeCountGuard: PlanGuard {
    let name = GuardName.maxChanges

    func objection(to plan: SurveyedPlan, limits: GuardLimits) -> String? {
        let changes = plan.totals.changes
        guard changes >= limits.minChanges, changes > limits.maxChanges else { return nil }
        return "The plan changes \(changes) rows; max_changes allows \(limits.maxChanges)."
    }
}
