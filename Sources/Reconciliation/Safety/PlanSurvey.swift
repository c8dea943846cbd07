package import Subscriptions

/// What the corrections of a plan have in common, gathered one by one.
///
/// Its size does not depend on the number of corrections.
package struct PlanSurvey: Hashable, Sendable {
    private(set) var access = AccessChanges()
    /// The same, of rows asked about as a matter of routine.
    private(set) var routineAccess = AccessChanges()
    private(set) var faults = OwnFaults()

    package init() {}

    package mutating func add(_ correction: PlannedCorrection, askedBecause: QuestionReason?) {
        access.add(correction)
        if askedBecause?.isRoutine == true { routineAccess.add(correction) }
        faults.add(correction)
    }
}

/// For how many rows a plan ends access, and for how many it gives access.
///
/// Inserts, and rows whose status was not known, count as neither.
struct AccessChanges: Hashable, Sendable {
    private(set) var ended = 0
    private(set) var given = 0

    mutating func add(_ correction: PlannedCorrection) {
        guard case .update = correction.target,
            let change = correction.changes.ofSubscription[.status],
            let ours = change.before.isEntitlingStatus, let apple = change.after.isEntitlingStatus
        else { return }
        if ours, !apple { ended += 1 }
        if !ours, apple { given += 1 }
    }
}
