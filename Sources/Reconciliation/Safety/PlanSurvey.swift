package import Subscriptions

/// What the corrections of a plan have in common, gathered one by one.
///
/// Its size does not depend on how many there are.
package struct PlanSurvey: Hashable, Sendable {
    private(set) var access = AccessChanges()
    private(set) var faults = OwnFaults()

    package init() {}

    package mutating func add(_ correction: PlannedCorrection) {
        access.add(correction)
        faults.add(correction)
    }
}
