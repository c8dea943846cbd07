package import Reconciliation
package import Subscriptions

/// What became of a plan at the stage that writes.
package struct PlanOutcome: Hashable, Sendable {
    /// What the guards object to; then nothing was written.
    package var breaches: [GuardBreach]
    /// Guards that were lifted, whether they objected or not.
    package var lifts: [GuardLift]
    /// `nil` when none was asked for.
    package var canary: CanaryOutcome?
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

/// How the second look at the first corrections went.
package enum CanaryOutcome: Hashable, Sendable {
    /// Nobody could have been asked again, so nothing was written.
    case notBegun
    /// Corrected subscriptions that were asked about again; all of them agree with Apple now.
    case agrees(subscriptions: Int)
    /// Some do not agree: by original transaction id, what differs. The rest was not written.
    case differs([String: String], of: Int)
    /// Some could not be judged, for these reasons. The rest was not written.
    case undecided([UndecidedReason: Int], of: Int)
    /// The run had to end while so many written subscriptions were asked about again.
    case interrupted(RunEnd, subscriptions: Int)

    /// Whether the rest may be written.
    var lets: Bool {
        if case .agrees = self { true } else { false }
    }

    /// Whether the next run of the job goes on with the pass and looks at the canary again.
    var leavesPassOpen: Bool {
        switch self {
        case .notBegun, .undecided: true
        case .agrees, .differs, .interrupted: false
        }
    }

    /// Why the run must end now, in other words than the canary's.
    var end: RunEnd? {
        if case .interrupted(let end, _) = self { end } else { nil }
    }
}
