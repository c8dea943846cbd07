import Subscriptions

/// `max_same_direction_share`: the plan ends access for too many rows, or gives access to too many.
///
/// When most subscriptions seem to expire at once, that is an incident at Apple or in the table,
/// and not a change of so many customers. `min_changes` exempts small plans; a share of 1 is no
/// limit.
struct DirectionGuard: PlanGuard {
    let name = GuardName.maxSameDirectionShare

    func objection(to plan: SurveyedPlan, limits: GuardLimits) -> String? {
        let access = plan.survey.access
        var sentences: [String] = []
        for (rows, what) in [(access.ended, "ends access for"), (access.given, "gives access to")]
        where rows >= limits.minChanges && plan.passes(limits.maxSameDirectionShare, by: rows) {
            sentences.append(
                "The plan \(what) \(rows) of \(plan.coveredInWords), and "
                    + "max_same_direction_share allows \(limits.maxSameDirectionShare).")
        }
        guard !sentences.isEmpty else { return nil }
        return sentences.joined(separator: " ")
            + " So many at once are rather an incident at Apple's or in the table than news about "
            + "customers: look at Apple's system status and at a few of them in the app."
    }
}
