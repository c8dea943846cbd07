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

    /// Whether requests that are in flight, or whose turn comes before the deadline, may finish.
    ///
    /// Every other request notices itself that the deadline has passed.
    var letsOthersFinish: Bool {
        switch self {
        case .deadline, .stop(.quotaWaitPastDeadline): true
        case .completed, .signal, .stop, .unavailable, .unreadable, .store: false
        }
    }

    /// Whether what was judged may still be planned and applied.
    ///
    /// After a deadline or an outage the collected evidence is good. After a refused key,
    /// unverifiable answers, a database error or a signal nothing more is written.
    package var allowsApplying: Bool {
        switch self {
        case .completed, .deadline, .unavailable, .stop(.quotaWaitPastDeadline): true
        case .signal, .stop, .unreadable, .store: false
        }
    }

    /// Whether the next run of the job continues where this one ended.
    package var leavesPassOpen: Bool {
        switch self {
        case .completed, .unreadable: false
        case .deadline, .signal, .stop, .unavailable, .store: true
        }
    }
}
