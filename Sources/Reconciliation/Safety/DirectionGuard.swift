import Subscriptions

/// `max_same_direction_share`: access ends for too large a part of the rows, or is given to it.
///
/// "Everything has suddenly expired" is an incident upstream, or in the table, rather than news
/// about so many customers. `min_changes` spares small plans; a share of 1 is no limit.
struct DirectionGuard: PlanGuard {
    let name = GuardName.maxSameDirectionShare

    func objection(to plan: SurveyedPlan, limits: GuardLimits) -> String? {
        let access = plan.survey.access
        var sentences: [String] = []
        for (rows, what) in [(access.ended, "ends access for"), (access.given, "gives access to")]
        where rows >= limits.minChanges && plan.passes(limits.maxSameDirectionShare, by: rows) {
            sentences.append(
                "The plan \(what) \(rows) of \(plan.inScope) rows in scope, and "
                    + "max_same_direction_share allows \(limits.maxSameDirectionShare).")
        }
        guard !sentences.isEmpty else { return nil }
        return sentences.joined(separator: " ")
            + " So many at once are rather an incident at Apple's or in the table than news about "
            + "customers: look at Apple's system status and at a few of them in the app."
    }
}
