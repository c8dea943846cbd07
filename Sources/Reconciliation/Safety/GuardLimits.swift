/// The limits of a job's `guards`, checked on the whole plan before the first write.
package struct GuardLimits: Hashable, Sendable {
    package var maxChanges: Int
    /// Of the rows in scope, 0…1.
    package var maxChangeShare: Double
    /// Fewer rows than this (changed, not found, lost from the table …) never stop a run.
    package var minChanges: Int
    package var maxNotFoundShare: Double
    package var maxVerificationFailures: Int
    /// Of the rows in scope: access ended for them all, or given to them all.
    package var maxSameDirectionShare: Double
    /// Of the rows that the table had at the last run.
    package var maxShrinkShare: Double
    /// Rows that differ as by a fault of our own; `nil` for no limit.
    package var maxOwnFault: Int?
    /// Of the rows in scope: of no configured app, or in flight.
    package var maxExcludedShare: Double

    package init(
        maxChanges: Int = 500, maxChangeShare: Double = 0.05, minChanges: Int = 5,
        maxNotFoundShare: Double = 0.01, maxVerificationFailures: Int = 10,
        maxSameDirectionShare: Double = 0.3, maxShrinkShare: Double = 0.5, maxOwnFault: Int? = 5,
        maxExcludedShare: Double = 0.05
    ) {
        self.maxChanges = maxChanges
        self.maxChangeShare = maxChangeShare
        self.minChanges = minChanges
        self.maxNotFoundShare = maxNotFoundShare
        self.maxVerificationFailures = maxVerificationFailures
        self.maxSameDirectionShare = maxSameDirectionShare
        self.maxShrinkShare = maxShrinkShare
        self.maxOwnFault = maxOwnFault
        self.maxExcludedShare = maxExcludedShare
    }

    /// Every guard that objects to the plan; empty when it may go on.
    package func breaches(by plan: SurveyedPlan) -> [GuardBreach] {
        AllGuards.list.compactMap { planGuard in
            planGuard.objection(to: plan, limits: self).map {
                GuardBreach(name: planGuard.name, sentence: $0)
            }
        }
    }
}
