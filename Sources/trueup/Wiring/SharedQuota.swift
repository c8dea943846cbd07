package import AppStoreServerAPI
import ServerConnections
import SubscriptionStore
package import Subscriptions
import Synchronization

/// The books of an app's quota in our database: all processes on it count together.
struct SharedQuota: QuotaBook {
    let store: SQLiteStore
    let app: AppIdentity
    let rates: QuotaRates
    let now: @Sendable () -> Timestamp
    /// Where the busiest hour is noted; `nil` where it is not needed.
    var peaks: QuotaPeaks?

    func book(
        _ wanted: Int, of endpoint: Endpoint, givingBack unused: QuotaGrant?
    ) async throws(QuotaBookFailure) -> QuotaGrant {
        do throws(StoreError) {
            let grant = try await store.bookCalls(
                wanted, of: account(endpoint), limit: rates.perHour(of: endpoint),
                givingBack: unused, now: now)
            peaks?.note(grant, of: endpoint, about: app)
            return grant
        } catch {
            throw QuotaBookFailure(error.description)
        }
    }

    func giveBack(_ unused: QuotaGrant, of endpoint: Endpoint) async {
        try? await store.giveBackCalls(unused, of: account(endpoint))
    }

    func keep(_ refusal: QuotaRefusal, of endpoint: Endpoint) async {
        try? await store.keepRefusal(refusal, of: account(endpoint))
    }

    func account(_ endpoint: Endpoint) -> QuotaAccount {
        QuotaAccount(app: app, endpoint: endpoint.rawValue)
    }
}

extension SQLiteStore {
    /// Returns the refusals that earlier processes got from Apple.
    ///
    /// - Throws: `StoreError`.
    func refusals(ofEndpointsOf app: AppIdentity) async throws -> [Endpoint: QuotaRefusal] {
        let stored = try await refusals(of: app)
        return Endpoint.allCases.reduce(into: [:]) { refusals, endpoint in
            refusals[endpoint] = stored[endpoint.rawValue]
        }
    }
}

/// The books of the quota for a command that leaves the database as it is.
///
/// Its calls are noted one by one in a file next to the database.
struct NotedQuota: QuotaBook {
    let store: SQLiteStore
    let app: AppIdentity
    let rates: QuotaRates
    let now: @Sendable () -> Timestamp
    /// Whether no call is made that cannot be noted.
    var isRequired = false

    func book(
        _ wanted: Int, of endpoint: Endpoint, givingBack unused: QuotaGrant?
    ) async throws(QuotaBookFailure) -> QuotaGrant {
        let account = QuotaAccount(app: app, endpoint: endpoint.rawValue)
        do throws(StoreError) {
            return try await store.noteCall(
                of: account, limit: rates.perHour(of: endpoint), at: now(), isRequired: isRequired)
        } catch {
            throw QuotaBookFailure(error.description)
        }
    }

    /// Only calls that are made are noted.
    func giveBack(_ unused: QuotaGrant, of endpoint: Endpoint) {}

    /// Nothing is kept; the next run learns it from Apple.
    func keep(_ refusal: QuotaRefusal, of endpoint: Endpoint) {}
}

/// Reads what all processes on a database have used of the hour that ends now, and, where several
/// workers share the quota, all of them.
struct HourlyUse: Sendable {
    private let accounts: [(account: QuotaAccount, limit: Int)]
    private let store: SQLiteStore
    private let shared: SharedCalls?
    private let now: @Sendable () -> Timestamp

    /// - Parameters:
    ///   - apps: Those that are checked.
    ///   - store: Whose processes share the quota.
    ///   - shared: The calls of all workers; `nil` where this worker counts alone.
    ///   - now: The wall clock.
    ///   - rates: What the calls of an app are held against.
    init(
        of apps: [AppSettings], in store: SQLiteStore, and shared: SharedCalls?,
        now: @escaping @Sendable () -> Timestamp,
        against rates: (AppSettings) -> QuotaRates
    ) {
        accounts = apps.flatMap { app in
            let rates = rates(app)
            return Endpoint.allCases.map { endpoint in
                (
                    QuotaAccount(app: app.identity, endpoint: endpoint.rawValue),
                    rates.perHour(of: endpoint)
                )
            }
        }
        self.store = store
        self.shared = shared
        self.now = now
    }

    /// By app and endpoint, where there were calls.
    ///
    /// - Throws: `StoreError` where the books, or those of all workers, cannot be read: a part is
    ///   not told as the whole.
    func read() async throws -> [LiveRun.QuotaUse] {
        var use: [LiveRun.QuotaUse] = []
        for (account, limit) in accounts {
            // The few calls of commands that may not write there are in this worker's books alone.
            let own = try await store.bookedCalls(of: account, at: now())
            let calls = max(own, try await sharedCalls(of: account))
            guard calls > 0 else { continue }
            use.append(
                LiveRun.QuotaUse(
                    app: account.app, endpoint: account.endpoint, calls: calls, limit: limit))
        }
        return use
    }

    private func sharedCalls(of account: QuotaAccount) async throws -> Int {
        guard let shared else { return 0 }
        return try await onBackgroundThread { try shared.booked(of: account) }
    }
}

/// The busiest hour of each endpoint while a run is active, by all processes on the database.
package final class QuotaPeaks: Sendable {
    private let calls = Mutex<[AppIdentity: [Endpoint: Int]]>([:])

    package init() {}

    /// - Parameters:
    ///   - grant: What was booked just now.
    ///   - endpoint: Where the calls go.
    ///   - app: Whose quota they are of.
    package func note(_ grant: QuotaGrant, of endpoint: Endpoint, about app: AppIdentity) {
        calls.withLock { calls in
            let before = calls[app]?[endpoint] ?? 0
            calls[app, default: [:]][endpoint] = max(before, grant.usedOfHour)
        }
    }

    /// Returns the recorded calls, compared with Apple's documented limits.
    ///
    /// - Parameter waits: How long the run had to wait before asking, by reason.
    /// - Returns: The peaks by app and endpoint, with the waits.
    package func effort(waiting waits: [String: Int64]) -> CallEffort {
        let noted = calls.withLock(\.self).flatMap { app, calls in
            let rates = QuotaRates.documented(environment: app.environment, share: 1)
            return calls.filter { $0.value > 0 }.map { endpoint, calls in
                CallEffort.Peak(
                    bundleID: app.bundleID, environment: app.environment.rawValue,
                    endpoint: endpoint.rawValue, calls: calls, limit: rates.perHour(of: endpoint))
            }
        }
        return CallEffort(
            peaks: noted.sorted {
                ($0.bundleID, $0.environment, $0.endpoint)
                    < ($1.bundleID, $1.environment, $1.endpoint)
            },
            waitedMilliseconds: waits)
    }
}
