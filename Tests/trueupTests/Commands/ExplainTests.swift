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
