import Subscriptions
import Testing

@testable import trueup

@Suite struct `An explanation for people` {
    private static let now = Timestamp(unixMilliseconds: 1_790_000_000_000)
    private static let key = SubscriptionKey(
        app: AppIdentity(bundleID: "com.example.app", environment: .production),
        originalTransactionID: "11")

    private func text(of explanation: SubscriptionExplanation) -> String {
        explanation.lines(at: Self.now).joined(separator: "\n")
    }

    @Test func `of a one-time purchase has its row, and nothing of checks`() {
        var explanation = SubscriptionExplanation(key: Self.key)
        var purchase = LocalTransaction(
            key: TransactionKey(
                bundleID: Self.key.bundleID, environment: Self.key.environment,
                transactionID: "11"), originalTransactionID: "11")
        purchase.productID = "coins"
        explanation.purchase = purchase
        let text = text(of: explanation)
        #expect(text.hasPrefix("One-time purchase 11 of com.example.app, Production"), "\(text)")
        #expect(text.contains("Stored row in purchases\n"), "\(text)")
        #expect(text.contains("coins"), "\(text)")
        #expect(!text.contains("last check") && !text.contains("none:"), "\(text)")
    }

    @Test func `calls a run partial that leaves out rows of its apps`() {
        func text(_ filters: [String]) -> String {
            var explanation = SubscriptionExplanation(key: Self.key)
            explanation.row = LocalSubscription(key: Self.key)
            explanation.nights = [
                SubscriptionRun(
                    runID: "run-1", job: "nightly", mode: "apply", started: Self.now,
                    exitStatus: .ok, filters: filters, look: .judged)
            ]
            return self.text(of: explanation)
        }
        #expect(text([]).contains("(nightly, apply, exit status 0)"))
        #expect(
            text(["app com.example.app/production"]).contains("(nightly, apply, exit status 0)"))
        #expect(text(["limit 10"]).contains("(nightly, apply, partial, exit status 0)"))
    }
}
