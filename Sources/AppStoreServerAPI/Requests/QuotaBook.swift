package import Subscriptions
import Synchronization

/// The port to the books in which all processes that share an app's quota enter their calls.
///
/// The limit of an hour belongs to the books: the caller that makes them knows the app's share.
package protocol QuotaBook: Sendable {
    /// Books calls before they are made.
    ///
    /// - Parameters:
    ///   - wanted: How many calls are wanted, at least one.
    ///   - endpoint: Where they go.
    ///   - unused: What is left of an earlier grant and not going to be made.
    /// - Returns: Up to as many calls as wanted; none where the hour is used up, and none, with the
    ///   `refusal`, while a 429 holds that was kept by whatever process.
    /// - Throws: `QuotaBookFailure`: nothing is known to be booked, so no call may be made.
    func book(
        _ wanted: Int, of endpoint: Endpoint, givingBack unused: QuotaGrant?
    ) async throws(QuotaBookFailure) -> QuotaGrant

    /// Takes back what was booked and is not going to be made.
    ///
    /// Where that fails the calls count as made, as those of a killed process do.
    func giveBack(_ unused: QuotaGrant, of endpoint: Endpoint) async

    /// Keeps a 429 for every process that books here, also those that begin later; where that fails
    /// they learn it from Apple.
    func keep(_ refusal: QuotaRefusal, of endpoint: Endpoint) async
}

/// The books could not be read or written; the text says why.
package struct QuotaBookFailure: Error, Hashable, Sendable {
    package var text: String
    /// Set where the run must end with it, because it is not known what other workers have booked.
    package var end: StoreError?

    package init(_ text: String) {
        self.text = text
    }

    /// - Parameter end: With what the run ends.
    package init(endingWith end: StoreError) {
        text = end.description
        self.end = end
    }
}

/// Books calls ahead, one second's worth at a time, and hands them out one by one.
///
/// Booked calls are used within their bucket; what is left then is given back with the next
/// booking. A killed process leaves at most one second's calls booked that it never made.
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

    private struct State {
        var left = PerEndpoint<QuotaGrant?> { _ in nil }
        /// The booking under way; everybody else waits for its end instead of booking as well.
        var bookings: [Endpoint: Task<Permission, Never>] = [:]

        mutating func takeFromRest(of endpoint: Endpoint, _ bucket: Int64) -> Bool {
            left.update(endpoint) { rest in
                guard let calls = rest?.calls, calls > 0, rest?.bucket == bucket else {
                    return false
                }
                rest?.calls = calls - 1
                return true
            }
        }

        /// Takes the unused part of the last booking; `nil` where nothing is left.
        mutating func takeUnused(of endpoint: Endpoint) -> QuotaGrant? {
            left.update(endpoint) { rest in
                defer { rest = nil }
                return rest.flatMap { $0.calls > 0 ? $0 : nil }
            }
        }
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
            let pending: (booking: Task<Permission, Never>, isOwn: Bool)? = state.withLock {
                state in
                if state.takeFromRest(of: endpoint, bucket) { return nil }
                if let booking = state.bookings[endpoint] { return (booking, false) }
                let booking = bookMore(of: endpoint, givingBack: state.takeUnused(of: endpoint))
                state.bookings[endpoint] = booking
                return (booking, true)
            }
            guard let pending else { return .booked }
            let permission = await pending.booking.value
            // The first call that its own booking brings is its own.
            if pending.isOwn { return permission }
            guard case .booked = permission else { return permission }
        }
    }

    /// A call that was taken is not made after all.
    func giveBack(_ endpoint: Endpoint) {
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

/// Counts every HTTP attempt once, by endpoint and result.
struct CallCounter {
    private var calls = PerEndpoint<[CallResult: Int]> { _ in [:] }

    mutating func attemptEnded(_ endpoint: Endpoint, _ result: CallResult) {
        calls.update(endpoint) { $0[result, default: 0] += 1 }
    }

    /// A 200 that was counted as answered could not be decoded.
    mutating func answerWasUndecodable(_ endpoint: Endpoint) {
        calls.update(endpoint) { counts in
            if let count = counts[.ok], count > 0 { counts[.ok] = count > 1 ? count - 1 : nil }
        }
        attemptEnded(endpoint, .undecodable)
    }

    /// In the order of the endpoints and results.
    var counts: [CallCount] {
        Endpoint.allCases.flatMap { endpoint in
            CallResult.allCases.compactMap { result in
                calls[endpoint][result].map {
                    CallCount(endpoint: endpoint.rawValue, result: result.rawValue, calls: $0)
                }
            }
        }
    }
}

/// How an HTTP attempt ended, as `CallCount` names it.
enum CallResult: String, Hashable, CaseIterable {
    case ok
    case notFound = "not_found"
    case rateLimited = "rate_limited"
    case serverError = "server_error"
    case connection
    case undecodable
    case refused
    case unauthorized

    init(_ reading: ResponseReading) {
        self =
            switch reading {
            case .answered: .ok
            case .unauthorized: .unauthorized
            case .rateLimited: .rateLimited
            case .misconfigured: .refused
            case .refused(404, _, _): .notFound
            case .refused: .refused
            case .failed: .serverError
            case .foreign: .refused
            case .undecodable: .undecodable
            }
    }
}
