import AppStoreServerAPI
import SubscriptionStore
import Subscriptions

/// The books of an app's quota in our database: all processes on it count together.
struct SharedQuota: QuotaBook {
    let store: SQLiteStore
    let app: AppIdentity
    let rates: QuotaRates
    let now: @Sendable () -> Timestamp
    /// Where the busiest hour is noted; `nil` where nobody wants to know it.
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

    /// What earlier processes were told by Apple.
    ///
    /// - Throws: `StoreError`.
    func refusals() async throws -> [Endpoint: QuotaRefusal] {
        let stored = try await store.refusals(of: app)
        return Endpoint.allCases.reduce(into: [:]) { refusals, endpoint in
            refusals[endpoint] = stored[endpoint.rawValue]
        }
    }

    func account(_ endpoint: Endpoint) -> QuotaAccount {
        QuotaAccount(app: app, endpoint: endpoint.rawValue)
    }
}
