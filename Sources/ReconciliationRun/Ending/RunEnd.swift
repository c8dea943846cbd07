package import Subscriptions

/// Why the asking ended.
package enum RunEnd: Hashable, Sendable {
    /// Everything in scope was asked.
    case completed
    /// `max_duration` passed, or what was still to be asked would have come after it.
    case deadline
    case signal(Int32)
    case stop(RunStop)
    /// Apple did not answer for as long as the run may wait for it.
    case unavailable(String)
    /// Answers that nobody can read or believe (exit 76).
    case unreadable(String)
    case store(StoreError)

    package init(_ stop: RunStop) {
        switch stop {
        case .deadlineReached: self = .deadline
        case .denied, .misconfigured, .quotaWaitPastDeadline, .cancelled: self = .stop(stop)
        }
    }

    /// Whether requests that are on their way, or have their turn before the deadline, are let be.
    ///
    /// Each of the others finds out for itself that its turn does not come.
    var letsOthersFinish: Bool {
        switch self {
        case .deadline, .stop(.quotaWaitPastDeadline): true
        case .completed, .signal, .stop, .unavailable, .unreadable, .store: false
        }
    }

    /// Whether what was judged may still be planned and applied.
    ///
    /// A deadline or an outage leaves good evidence behind. A refused key, unbelievable answers,
    /// a broken database or somebody's wish to stop do not ask for more writing.
    package var allowsApplying: Bool {
        switch self {
        case .completed, .deadline, .unavailable, .stop(.quotaWaitPastDeadline): true
        case .signal, .stop, .unreadable, .store: false
        }
    }

    /// Whether the next run of the job goes on where this one ended.
    package var leavesPassOpen: Bool {
        switch self {
        case .completed, .unreadable: false
        case .deadline, .signal, .stop, .unavailable, .store: true
        }
    }
}
