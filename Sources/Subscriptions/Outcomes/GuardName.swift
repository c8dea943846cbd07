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
    /// The second look at the first corrections of a run; asked for, so never in the way.
    case canary

    /// Those that `--lift-guard` may name.
    package static let liftable = allCases.filter { $0 != .canary }
}
