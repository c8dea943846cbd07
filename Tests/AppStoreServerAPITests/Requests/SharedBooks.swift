import AppStoreServerAPI
import Subscriptions
import Synchronization

/// Books in memory that several processes share, as a database would be.
final class SharedBooks: QuotaBook {
    private struct State {
        var booked: [Endpoint: [Int64: Int]] = [:]
        var bookings = 0
        var refusals: [Endpoint: QuotaRefusal] = [:]
    }

    private let state = Mutex(State())
    private let limit: Int
    private let now: @Sendable () -> Timestamp
    private let failure: QuotaBookFailure?

    init(
        limit: Int, failure: QuotaBookFailure? = nil, now: @escaping @Sendable () -> Timestamp
    ) {
        self.limit = limit
        self.failure = failure
        self.now = now
    }

    /// How often somebody booked.
    var bookings: Int { state.withLock { $0.bookings } }
    var refusals: [Endpoint: QuotaRefusal] { state.withLock { $0.refusals } }
    /// How many calls are booked, however long ago.
    var booked: Int { state.withLock { $0.booked.values.flatMap(\.values).reduce(0, +) } }

    func book(
        _ wanted: Int, of endpoint: Endpoint, givingBack unused: QuotaGrant?
    ) async throws(QuotaBookFailure) -> QuotaGrant {
        if let failure { throw failure }
        await Task.yield()
        let now = now()
        return state.withLock { state in
            state.bookings += 1
            if let unused {
                state.booked[endpoint]?[unused.bucket, default: 0] -= unused.calls
            }
            if let refusal = state.refusals[endpoint], refusal.holds(at: now) {
                return QuotaGrant(during: refusal, limit: limit, at: now)
            }
            let buckets = state.booked[endpoint, default: [:]]
            let window = QuotaWindow(
                buckets.map { QuotaWindow.Bucket(start: $0.key, calls: $0.value) }, at: now)
            let grant = window.grant(wanted, limit: limit, at: now)
            state.booked[endpoint, default: [:]][grant.bucket, default: 0] += grant.calls
            return grant
        }
    }

    func giveBack(_ unused: QuotaGrant, of endpoint: Endpoint) {
        state.withLock { $0.booked[endpoint]?[unused.bucket, default: 0] -= unused.calls }
    }

    func keep(_ refusal: QuotaRefusal, of endpoint: Endpoint) {
        state.withLock { $0.refusals[endpoint] = refusal }
    }
}
