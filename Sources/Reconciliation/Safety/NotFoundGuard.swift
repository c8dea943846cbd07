import Subscriptions

/// `max_not_found_share`: Apple does not know too many of our ids.
///
/// Nothing is written for such rows, but many of them mean that the wrong app or environment was
/// asked, and then the other rows must not be written either.
struct NotFoundGuard: PlanGuard {
    let name = GuardName.maxNotFoundShare

    func objection(to plan: SurveyedPlan, limits: GuardLimits) -> String? {
        let notFound = plan.totals.notFound
        guard notFound >= limits.minChanges,
            Double(notFound) > limits.maxNotFoundShare * Double(plan.covered)
        else { return nil }
        return "Apple did not find \(notFound) of \(plan.coveredInWords); "
            + "max_not_found_share allows \(limits.maxNotFoundShare)."
    }
}
