import Reconciliation
import Subscriptions
import Testing

@Suite struct `The veto of a row under another app` {
    private let missing = Sample.stated("3000") { $0.transaction.subscriptionGroupID = "second" }

    @Test func `nothing is inserted beside a row of the same subscription, wherever it stands`()
        throws
    {
        var item = Sample.item(Sample.row(), [Sample.stated(), missing])
        #expect(try outcome(item, of: "3000").corrections.count == 1)
        item.underOtherApps["3000"] = SubscriptionKey(
            bundleID: "com.example.other", environment: "Production",
            originalTransactionID: "3000")
        let refused = try outcome(item, of: "3000")
        #expect(refused.corrections.isEmpty)
        let finding = try refused.finding(.missingLocally)
        #expect(finding.action == .refused)
        #expect(
            finding.cause
                == "a row of it is stored under com.example.other (Production); correct the app of that row"
        )
    }
}
