import AppStoreServerAPI
import SubscriptionStore
import Subscriptions

/// The books of the quota for a command that leaves the database as it is.
///
/// Its few calls are noted one by one in a file beside the database.
struct DoctorQuota: QuotaBook {
    let store: SQLiteStore
    let app: AppIdentity
    let rates: QuotaRates
    let now: @Sendable () -> Timestamp

    func book(
        _ wanted: Int, of endpoint: Endpoint, givingBack unused: QuotaGrant?
    ) async throws(QuotaBookFailure) -> QuotaGrant {
        let account = QuotaAccount(app: app, endpoint: endpoint.rawValue)
        do throws(StoreError) {
            return try await store.noteCall(
                of: account, limit: rates.perHour(of: endpoint), at: now())
        } catch {
            throw QuotaBookFailure(error.description)
        }
    }

    /// Only calls that are made are noted.
    func giveBack(_ unused: QuotaGrant, of endpoint: Endpoint) {}

    /// Nothing is kept; the next run learns it from Apple.
    func keep(_ refusal: QuotaRefusal, of endpoint: Endpoint) {}
}
