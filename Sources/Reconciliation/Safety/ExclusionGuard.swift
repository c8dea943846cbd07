import Subscriptions

/// `max_excluded_share`: too many rows were excluded, because they belong to no configured app or
/// are in flight.
///
/// Then the settings name the wrong app or environment, or something keeps rewriting the rows, and
/// matches of the remaining rows prove little. Rows in flight only because of our own last
/// correction are not counted.
struct ExclusionGuard: PlanGuard {
    let name = GuardName.maxExcludedShare

    func objection(to plan: SurveyedPlan, limits: GuardLimits) -> String? {
        let strangers = plan.totals.totals.excluded[.appNotConfigured] ?? 0
        let inFlight = max(
            0,
            (plan.totals.totals.excluded[.inFlight] ?? 0) - plan.totals.inFlightByOurselves)
        let excluded = strangers + inFlight
        guard excluded >= max(1, limits.minChanges) else { return nil }
        let counts = [
            strangers > 0 ? "\(strangers) belong to no configured app" : nil,
            inFlight > 0 ? "\(inFlight) are in flight" : nil,
        ].compactMap(\.self).joined(separator: ", ")
        if plan.passes(limits.maxExcludedShare, by: excluded) {
            return "\(excluded) of \(plan.coveredInWords) were left out (\(counts)); "
                + "max_excluded_share allows \(limits.maxExcludedShare). \(advice(strangers))"
        }
        return growth(of: strangers, since: plan.totals.lastRun, limits)
    }

    /// Compares with the last run: another app's rows that were added to the table also make it
    /// larger, so their share alone may stay below the limit.
    private func growth(of strangers: Int, since last: RunTotals?, _ limits: GuardLimits) -> String?
    {
        guard let last, limits.maxExcludedShare < 1 else { return nil }
        let before = last.excluded[.appNotConfigured] ?? 0
        let more = strangers - before
        guard more >= max(1, limits.minChanges),
            Double(more) > limits.maxExcludedShare * Double(last.inScope)
        else { return nil }
        return
            "\(strangers) rows belong to no configured app; at the last run it were \(before) of "
            + "\(last.inScope), and max_excluded_share allows \(limits.maxExcludedShare) more. "
            + advice(strangers)
    }

    private func advice(_ strangers: Int) -> String {
        strangers > 0
            ? "Compare apps in trueup.yaml with the rows' bundle_id and environment: trueup doctor "
                + "counts them."
            : "Find out what rewrites these rows, or whether settle is too long."
    }
}
