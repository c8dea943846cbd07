package import Subscriptions

/// The limits of a job's `guards`, checked on the whole plan before the first write.
package struct GuardLimits: Hashable, Sendable {
    package var maxChanges: Int
    /// Of the rows in scope, 0…1.
    package var maxChangeShare: Double
    /// Fewer changes (or fewer rows not found) than this never stop a run.
    package var minChanges: Int
    package var maxNotFoundShare: Double
    package var maxVerificationFailures: Int

    package init(
        maxChanges: Int = 500, maxChangeShare: Double = 0.05, minChanges: Int = 5,
        maxNotFoundShare: Double = 0.01, maxVerificationFailures: Int = 10
    ) {
        self.maxChanges = maxChanges
        self.maxChangeShare = maxChangeShare
        self.minChanges = minChanges
        self.maxNotFoundShare = maxNotFoundShare
        self.maxVerificationFailures = maxVerificationFailures
    }

    /// Every limit that the plan passes, as a sentence with both numbers; empty when it may go on.
    ///
    /// Changes and rows not found stop a run only from `minChanges` on: in a small table three rows
    /// are a large share. A share of no rows at all is passed by any change; a share of 1 is no
    /// limit, since a first fill also inserts what is not yet in scope.
    package func breaches(by plan: PlanTotals) -> [String] {
        let inScope = plan.totals.inScope
        var sentences: [String] = []
        if plan.changes >= minChanges {
            if plan.changes > maxChanges {
                sentences.append(
                    "The plan changes \(plan.changes) rows; max_changes allows \(maxChanges).")
            }
            if maxChangeShare < 1, Double(plan.changes) > maxChangeShare * Double(inScope) {
                sentences.append(
                    "The plan changes \(plan.changes) of \(inScope) rows in scope; "
                        + "max_change_share allows \(maxChangeShare).")
            }
        }
        if plan.notFound >= minChanges, Double(plan.notFound) > maxNotFoundShare * Double(inScope) {
            sentences.append(
                "Apple did not find \(plan.notFound) of \(inScope) rows in scope; "
                    + "max_not_found_share allows \(maxNotFoundShare).")
        }
        if plan.verificationFailures > maxVerificationFailures {
            sentences.append(
                "\(plan.verificationFailures) signed payloads could not be verified; "
                    + "max_verification_failures allows \(maxVerificationFailures).")
        }
        return sentences
    }
}
