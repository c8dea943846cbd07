import Subscriptions
import Synchronization

/// Books calls ahead, one second's worth at a time, and hands them out one by one.
///
/// Booked calls are used within their bucket; what is left then is given back with the next booking.
/// A killed process leaves at most one second's calls booked that it never made.
///
/// No actor: nearly every call finds one that is booked, and need not wait for its turn to take it.
final class BookedCalls: Sendable {
    /// Whether a call may be made.
    enum Permission: Hashable {
        case booked
        /// The hour has no call left until then.
        case usedUp(QuotaGrant)
        /// The books cannot be used.
        case failed(QuotaBookFailure)
    }

    private let book: any QuotaBook
    private let rates: QuotaRates
    private let now: @Sendable () -> Timestamp
    private let state = Mutex(State())

    fileprivate struct State {
        var left = PerEndpoint<QuotaGrant?> { _ in nil }
        /// The booking under way; everybody else waits for its end instead of booking, too.
        var bookings: [Endpoint: Task<Permission, Never>] = [:]
    }

    /// What a call that wants to be made does next.
    private enum Taking {
        case taken
        /// This call's own booking: the first of what it brings is its own.
        case booking(Task<Permission, Never>)
        case waiting(for: Task<Permission, Never>)
    }

    init(book: any QuotaBook, rates: QuotaRates, now: @escaping @Sendable () -> Timestamp) {
        self.book = book
        self.rates = rates
        self.now = now
    }

    /// Takes one booked call, and books more where none is left.
    func take(_ endpoint: Endpoint) async -> Permission {
        while true {
            let bucket = currentBucket
            let taking = state.withLock { state -> Taking in
                if state.takeFromRest(of: endpoint, bucket) { return .taken }
                if let booking = state.bookings[endpoint] { return .waiting(for: booking) }
                let booking = bookMore(of: endpoint, givingBack: state.takeUnused(of: endpoint))
                state.bookings[endpoint] = booking
                return .booking(booking)
            }
            switch taking {
            case .taken: return .booked
            case .booking(let booking): return await booking.value
            case .waiting(let booking):
                let permission = await booking.value
                guard case .booked = permission else { return permission }
            }
        }
    }

    /// A call that was taken is not made after all.
    func putBack(_ endpoint: Endpoint) {
        let bucket = currentBucket
        // Of an earlier bucket, it counts as made.
        state.withLock { state in
            state.left.update(endpoint) { if $0?.bucket == bucket { $0?.calls += 1 } }
        }
    }

    /// Gives back whatever was booked and not made; no call may be made afterwards.
    func giveBackRest() async {
        for endpoint in Endpoint.allCases {
            guard let rest = state.withLock({ $0.takeUnused(of: endpoint) }) else { continue }
            await book.giveBack(rest, of: endpoint)
        }
    }

    func keep(_ refusal: QuotaRefusal, of endpoint: Endpoint) async {
        await book.keep(refusal, of: endpoint)
    }

    private var currentBucket: Int64 { QuotaWindow.bucket(of: now()) }

    /// In a task of its own, because the cancellation of one caller must not fail the others.
    private func bookMore(
        of endpoint: Endpoint, givingBack unused: QuotaGrant?
    ) -> Task<Permission, Never> {
        let wanted = max(1, Int(min(rates.perSecond(of: endpoint), 1e6)))
        return Task {
            do throws(QuotaBookFailure) {
                var grant = try await book.book(wanted, of: endpoint, givingBack: unused)
                guard grant.calls > 0 else {
                    bookingEnded(of: endpoint, with: nil)
                    return .usedUp(grant)
                }
                // The first one is the caller's, even if the bucket has ended meanwhile.
                grant.calls -= 1
                bookingEnded(of: endpoint, with: grant)
                return .booked
            } catch {
                bookingEnded(of: endpoint, with: nil)
                return .failed(error)
            }
        }
    }

    private func bookingEnded(of endpoint: Endpoint, with rest: QuotaGrant?) {
        state.withLock { state in
            state.bookings[endpoint] = nil
            if let rest { state.left.update(endpoint) { $0 = rest } }
        }
    }
}

extension BookedCalls.State {
    fileprivate mutating func takeFromRest(of endpoint: Endpoint, _ bucket: Int64) -> Bool {
        left.update(endpoint) { rest in
            guard let calls = rest?.calls, calls > 0, rest?.bucket == bucket else { return false }
            rest?.calls = calls - 1
            return true
        }
    }

    /// What is left of the last booking; `nil` where nothing is.
    fileprivate mutating func takeUnused(of endpoint: Endpoint) -> QuotaGrant? {
        left.update(endpoint) { rest in
            defer { rest = nil }
            return rest.flatMap { $0.calls > 0 ? $0 : nil }
        }
    }
}
