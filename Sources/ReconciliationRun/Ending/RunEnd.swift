package import Subscriptions

/// Why the asking ended.
package enum RunEnd: Hashable, Sendable {
    /// Everything in scope was asked.
    case completed
    /// `max_duration` passed.
    case deadline
    case signal(Int32)
    case stop(RunStop)
    /// Apple did not answer often enough in a row to make asking on pointless.
    case unavailable(String)
    /// Answers that nobody can read or believe (exit 76).
    case unreadable(String)
    case store(StoreError)

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
