import AppStoreServerAPI
import PostgresDatabase
import SubscriptionStore
import Subscriptions

/// Reads what all processes on a database have used of the hour that ends now, and, where several
/// workers share the quota, all of them.
struct HourlyUse: Sendable {
    private struct Account: Sendable {
        let account: QuotaAccount
        let limit: Int
    }

    private let accounts: [Account]
    private let store: SQLiteStore
    private let shared: SharedCalls?
    private let now: @Sendable () -> Timestamp

    /// - Parameters:
    ///   - apps: Those that are asked about.
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
                Account(
                    account: QuotaAccount(app: app.identity, endpoint: endpoint.rawValue),
                    limit: rates.perHour(of: endpoint))
            }
        }
        self.store = store
        self.shared = shared
        self.now = now
    }

    /// By app and endpoint, where there were calls.
    ///
    /// - Throws: `StoreError` where the books, or those of all workers, cannot be read: a part is not
    ///   told as the whole.
    func read() async throws -> [LiveRun.QuotaUse] {
        var use: [LiveRun.QuotaUse] = []
        for account in accounts {
            // The few calls of commands that may not write there are in this worker's books alone.
            let own = try await store.bookedCalls(of: account.account, at: now())
            let calls = max(own, try await sharedCalls(of: account.account))
            guard calls > 0 else { continue }
            use.append(
                LiveRun.QuotaUse(
                    app: account.account.app, endpoint: account.account.endpoint, calls: calls,
                    limit: account.limit))
        }
        return use
    }

    private func sharedCalls(of account: QuotaAccount) async throws -> Int {
        guard let shared else { return 0 }
        return try await offTheCooperativeThreads { try shared.booked(of: account) }
    }
}
