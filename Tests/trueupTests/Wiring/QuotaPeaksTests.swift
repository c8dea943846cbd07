import AppStoreServerAPI
import Subscriptions
import Testing
import trueup

@Suite struct `The busiest hour` {
    @Test func `is the most that any booking saw, by app and endpoint, against Apple's limit`() {
        let peaks = QuotaPeaks()
        let app = AppIdentity(bundleID: "com.example.app", environment: .production)
        let sandbox = AppIdentity(bundleID: "com.example.app", environment: .sandbox)
        func note(_ used: Int, _ endpoint: Endpoint, _ app: AppIdentity) {
            var grant = QuotaGrant(calls: 1, bucket: 0, limit: 7, nextFree: nil)
            grant.usedOfHour = used
            peaks.note(grant, of: endpoint, about: app)
        }
        note(40, .subscriptionStatuses, app)
        note(90, .subscriptionStatuses, app)
        note(60, .subscriptionStatuses, app)
        note(5, .notificationHistory, sandbox)
        // Nothing was granted, so nothing is known of the hour.
        note(0, .transactionInfo, app)
        let effort = peaks.effort(waiting: ["quota": 61_500])
        #expect(
            effort.peaks == [
                .init(
                    bundleID: "com.example.app", environment: "Production",
                    endpoint: "subscription_statuses", calls: 90, limit: 180_000),
                .init(
                    bundleID: "com.example.app", environment: "Sandbox",
                    endpoint: "notification_history", calls: 5, limit: 18_000),
            ])
        #expect(effort.waited == 61_500)
    }
}
