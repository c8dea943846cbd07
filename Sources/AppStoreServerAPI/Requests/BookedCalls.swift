import Subscriptions

/// Books calls ahead, one second's worth at a time, and hands them out one by one.
///
/// Booked calls are used within their bucket; what is left then is given back with the next booking.
/// A killed process leaves at most one second's calls booked that it never made.
actor BookedCalls {
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
    private var left: [Endpoint: QuotaGrant] = [:]
    /// The booking under way; everybody else waits for its end instead of booking, too.
    private var bookings: [Endpoint: Task<Permission, Never>] = [:]

    init(book: any QuotaBook, rates: QuotaRates, now: @escaping @Sendable () -> Timestamp) {
        self.book = book
        self.rates = rates
        self.now = now
    }

    /// Takes one booked call, and books more where none is left.
    func take(_ endpoint: Endpoint) async -> Permission {
        while true {
            if takeFromRest(endpoint) { return .booked }
            guard let booking = bookings[endpoint] else { return await bookOneMore(endpoint) }
            let permission = await booking.value
            guard case .booked = permission else { return permission }
        }
    }

    /// A call that was taken is not made after all.
    func putBack(_ endpoint: Endpoint) {
        // Of an earlier bucket, it counts as made.
        guard let rest = left[endpoint], rest.bucket == currentBucket else { return }
        left[endpoint]?.calls += 1
    }

    /// Gives back whatever was booked and not made; no call may be made afterwards.
    func giveBackRest() async {
        for (endpoint, rest) in left where rest.calls > 0 {
            left[endpoint] = nil
            await book.giveBack(rest, of: endpoint)
        }
    }

    func keep(_ refusal: QuotaRefusal, of endpoint: Endpoint) async {
        await book.keep(refusal, of: endpoint)
    }

    private var currentBucket: Int64 { QuotaWindow.bucket(of: now()) }

    private func takeFromRest(_ endpoint: Endpoint) -> Bool {
        guard let rest = left[endpoint], rest.calls > 0, rest.bucket == currentBucket else {
            return false
        }
        left[endpoint]?.calls -= 1
        return true
    }

    private func bookOneMore(_ endpoint: Endpoint) async -> Permission {
        let unused = left.removeValue(forKey: endpoint).flatMap { $0.calls > 0 ? $0 : nil }
        let wanted = max(1, Int(min(rates.perSecond(of: endpoint), 1e6)))
        // A task of its own, because the cancellation of one caller must not fail the others.
        let booking = Task { [book] in
            defer { bookings[endpoint] = nil }
            do throws(QuotaBookFailure) {
                let grant = try await book.book(wanted, of: endpoint, givingBack: unused)
                guard grant.calls > 0 else { return Permission.usedUp(grant) }
                // The first one is ours, even if the bucket has ended meanwhile.
                enter(grant, of: endpoint)
                return .booked
            } catch {
                return .failed(error)
            }
        }
        bookings[endpoint] = booking
        return await booking.value
    }

    private func enter(_ grant: QuotaGrant, of endpoint: Endpoint) {
        var rest = grant
        rest.calls -= 1
        left[endpoint] = rest
    }
}
