/// Whose calls are counted together: Apple's limits hold for each app and endpoint.
package struct QuotaAccount: Hashable, Sendable {
    package var app: AppIdentity
    /// As in `calls` of a run's summary, such as `subscription_statuses`.
    package var endpoint: String

    package init(app: AppIdentity, endpoint: String) {
        self.app = app
        self.endpoint = endpoint
    }
}
