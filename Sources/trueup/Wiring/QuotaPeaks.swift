package import AppStoreServerAPI
package import Subscriptions
import Synchronization

/// The busiest hour of each endpoint while a run goes on, by all processes on the database.
package final class QuotaPeaks: Sendable {
    private struct Account: Hashable {
        let app: AppIdentity
        let endpoint: Endpoint
    }

    private let calls = Mutex<[Account: Int]>([:])

    package init() {}

    /// - Parameters:
    ///   - grant: What was booked just now.
    ///   - endpoint: Where the calls go.
    ///   - app: Whose quota they are of.
    package func note(_ grant: QuotaGrant, of endpoint: Endpoint, about app: AppIdentity) {
        let account = Account(app: app, endpoint: endpoint)
        calls.withLock { $0[account] = max($0[account] ?? 0, grant.usedOfHour) }
    }

    /// What was noted, against Apple's documented limits.
    ///
    /// - Parameter waits: How long the run was kept from asking, by reason.
    /// - Returns: The peaks by app and endpoint, with the waits.
    package func effort(waiting waits: [String: Int64]) -> CallEffort {
        let noted = calls.withLock(\.self).filter { $0.value > 0 }.map { account, calls in
            CallEffort.Peak(
                bundleID: account.app.bundleID, environment: account.app.environment.rawValue,
                endpoint: account.endpoint.rawValue, calls: calls,
                limit: QuotaRates.documented(environment: account.app.environment, share: 1)
                    .perHour(of: account.endpoint))
        }
        return CallEffort(
            peaks: noted.sorted {
                ($0.bundleID, $0.environment, $0.endpoint)
                    < ($1.bundleID, $1.environment, $1.endpoint)
            },
            waitedMilliseconds: waits)
    }
}
