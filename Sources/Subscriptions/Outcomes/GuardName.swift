/// The guards over a whole plan, by the names of their settings.
package enum GuardName: String, Hashable, Sendable, CaseIterable {
    case maxChanges = "max_changes"
    case maxChangeShare = "max_change_share"
    case maxSameDirectionShare = "max_same_direction_share"
    case maxShrinkShare = "max_shrink_share"
    case maxOwnFault = "max_own_fault"
    case maxExcludedShare = "max_excluded_share"
    case maxNotFoundShare = "max_not_found_share"
    case maxVerificationFailures = "max_verification_failures"
    /// A command of the job's, `hooks.after_plan`, that reads the plan and may refuse it.
    case afterPlan = "after_plan"
    /// Checks the first corrections of a run with Apple before the rest is written. It runs only on
    /// request, so there is no need to lift it.
    case canary

    /// The guards that `--lift-guard` accepts.
    package static let liftable = allCases.filter { $0 != .canary }
}

/// One guard that was lifted for one run, by whom and why.
package struct GuardLift: Hashable, Sendable {
    package var name: GuardName
    package var reason: String
    /// `user@host`.
    package var actor: String
    package var liftedAt: Timestamp
    /// The run whose arguments lifted it: an earlier one where this run continues a killed run.
    package var liftedBy: String
    /// The guard's objection; `nil` when it did not object.
    package var breach: String?

    package init(
        name: GuardName, reason: String, actor: String, liftedAt: Timestamp, liftedBy: String,
        breach: String? = nil
    ) {
        self.name = name
        self.reason = reason
        self.actor = actor
        self.liftedAt = liftedAt
        self.liftedBy = liftedBy
        self.breach = breach
    }
}

/// A subscription of the canary: its corrections are written first and checked with Apple again
/// before the others are written.
package struct CanaryRow: Hashable, Sendable {
    package var key: SubscriptionKey
    /// The kinds of its findings before it was corrected.
    package var kindsBefore: Set<FindingKind>

    package init(key: SubscriptionKey, kindsBefore: Set<FindingKind>) {
        self.key = key
        self.kindsBefore = kindsBefore
    }
}
