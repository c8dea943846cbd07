import Subscriptions

/// `max_same_direction_share`: the plan ends access for too many rows, or gives access to too many.
///
/// When most subscriptions seem to expire at once, that is an incident at Apple or in the table,
/// and not a change of so many customers. Where only due rows were asked about, the shares are those of
/// `max_change_share`. `min_changes` exempts small plans; a share of 1 is no
/// limit.
struct DirectionGuard: PlanGuard {
    let name = GuardName.maxSameDirectionShare

    func objection(to plan: SurveyedPlan, limits: GuardLimits) -> String? {
        let (all, routine) = (plan.survey.access, plan.survey.routineAccess)
        let sentences = [
            sentence("ends access for", all.ended, routine.ended, plan, limits),
            sentence("gives access to", all.given, routine.given, plan, limits),
        ].compactMap(\.self)
        guard !sentences.isEmpty else { return nil }
        return sentences.joined(separator: " ")
            + " So many at once are rather an incident at Apple's or in the table than news about "
            + "customers: look at Apple's system status and at a few of them in the app."
    }

    private func sentence(
        _ what: String, _ rows: Int, _ routine: Int, _ plan: SurveyedPlan, _ limits: GuardLimits
    ) -> String? {
        let share = limits.maxSameDirectionShare
        var part: String?
        if rows >= limits.minChanges, plan.passes(share, by: rows) {
            part = "\(rows) of \(plan.coveredInWords)"
        } else if routine >= limits.minChanges {
            part = plan.routine(passes: share, by: routine)
        }
        return part.map {
            "The plan \(what) \($0), and max_same_direction_share allows \(share)."
        }
    }
}
