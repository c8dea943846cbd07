import Subscriptions

/// `max_verification_failures`: too many signed payloads do not verify, whatever the number of
/// rows.
struct VerificationGuard: PlanGuard {
    let name = GuardName.maxVerificationFailures

    func objection(to plan: SurveyedPlan, limits: GuardLimits) -> String? {
        let failures = plan.totals.verificationFailures
        guard failures > limits.maxVerificationFailures else { return nil }
        return "\(failures) signed payloads could not be verified; "
            + "max_verification_failures allows \(limits.maxVerificationFailures)."
    }
}
