import AppStoreServerAPI
import Subscriptions
import Synchronization

/// Adds up how long a run was kept from asking, by reason.
final class WaitingTime: Sendable {
    private let milliseconds = Mutex<[String: Int64]>([:])
    private let now: @Sendable () -> Timestamp

    /// - Parameter now: The wall clock, by which waits end.
    init(now: @escaping @Sendable () -> Timestamp) { self.now = now }

    func note(_ notice: PacingNotice) {
        switch notice.event {
        case .wait(let wait) where !wait.isPastDeadline: add(wait.name, until: wait.until)
        case .outage(let outage):
            if case .waits(let until, _) = outage.event { add("outage", until: until) }
        default: break
        }
    }

    var byReason: [String: Int64] { milliseconds.withLock(\.self) }

    private func add(_ reason: String, until end: Timestamp) {
        let length = max(0, end.milliseconds(since: now()))
        milliseconds.withLock { $0[reason, default: 0] += length }
    }
}
