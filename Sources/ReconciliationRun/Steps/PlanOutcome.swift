package import Reconciliation
package import Subscriptions

/// The result of the stage that guards and writes the plan.
package struct PlanOutcome: Hashable, Sendable {
    /// The objections of the guards; if there are any, nothing was written.
    package var breaches: [GuardBreach]
    /// Guards that were lifted, whether they objected or not.
    package var lifts: [GuardLift]
    /// `nil` when no canary was requested.
    package var canary: CanaryOutcome?
    /// Which plan it is; `nil` where the run ended before it was complete.
    package var seal: PlanSeal?
    /// The table's size, unless a guard objects to it.
    package var acceptedTableRows: Int?

    package init(
        breaches: [GuardBreach] = [], lifts: [GuardLift] = [], canary: CanaryOutcome? = nil
    ) {
        self.breaches = breaches
        self.lifts = lifts
        self.canary = canary
    }
}

/// The result of asking about the first corrections again.
package enum CanaryOutcome: Hashable, Sendable {
    /// Apple could not have been asked again, so nothing was written.
    case notBegun
    /// All of so many corrected subscriptions agree with Apple now.
    case agrees(subscriptions: Int)
    /// Some do not agree: by original transaction id, what differs. The rest was not written.
    case differs([String: String], of: Int)
    /// Some could not be judged, for these reasons. The rest was not written.
    case undecided([UndecidedReason: Int], of: Int)
    /// The run had to end while so many written subscriptions were asked about again.
    case interrupted(RunEnd, subscriptions: Int)

    /// Whether the rest may be written.
    var allowsRest: Bool {
        if case .agrees = self { true } else { false }
    }

    /// Whether the next run of the job continues the pass and checks the canary again.
    var leavesPassOpen: Bool {
        switch self {
        case .notBegun, .undecided: true
        case .agrees, .differs, .interrupted: false
        }
    }

    /// Why the run must end now, for reasons other than the canary.
    var end: RunEnd? {
        if case .interrupted(let end, _) = self { end } else { nil }
    }
}
