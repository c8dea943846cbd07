import AppStoreServerAPI
import SubscriptionStore
import Subscriptions

/// Reads what all processes on a database have used of the hour that ends now.
struct HourlyUse: Sendable {
    private struct Account: Sendable {
        let account: QuotaAccount
        let limit: Int
    }

    private let accounts: [Account]
    private let store: SQLiteStore
    private let now: @Sendable () -> Timestamp

    /// - Parameters:
    ///   - apps: Those that are asked about.
    ///   - store: Whose processes share the quota.
    ///   - now: The wall clock.
    ///   - rates: What the calls of an app are held against.
    init(
        of apps: [AppSettings], in store: SQLiteStore, now: @escaping @Sendable () -> Timestamp,
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
        self.now = now
    }

    /// By app and endpoint, where there were calls.
    ///
    /// - Throws: `StoreError` where the books cannot be read.
    func read() async throws -> [LiveRun.QuotaUse] {
        var use: [LiveRun.QuotaUse] = []
        for account in accounts {
            let calls = try await store.bookedCalls(of: account.account, at: now())
            guard calls > 0 else { continue }
            use.append(
                LiveRun.QuotaUse(
                    app: account.account.app, endpoint: account.account.endpoint, calls: calls,
                    limit: account.limit))
        }
        return use
    }
}
