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
    package func breaches(by plan: PlanTotals) -> [String] {
        []
    }
}
