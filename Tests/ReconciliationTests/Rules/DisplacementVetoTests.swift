import Reconciliation
import Subscriptions
import Testing

@Suite struct `The displacement veto` {
    private let newer = Sample.stated("3000") {
        $0.transaction.originalPurchaseDate = Sample.now(days: -20)
    }

    /// The newer subscription is held and asked for; the old one is only in Apple's answer.
    private func outcomeOfOld(_ old: StatedSubscription) throws -> RowOutcome {
        try outcome(
            Sample.item(Sample.row(of: newer), [newer, old]), of: old.originalTransactionID)
    }

    @Test(arguments: [SubscriptionStatus.billingRetry, .billingGracePeriod])
    func `an old id that comes back in billing retry is not inserted beside a newer one`(
        status: SubscriptionStatus
    ) throws {
        let outcome = try outcomeOfOld(Sample.stated("1000", status))
        #expect(outcome.corrections.isEmpty)
        let finding = try outcome.finding(.missingLocally)
        #expect(finding.action == .refused)
        #expect(finding.cause == "old subscription in billing retry next to a newer one")
        #expect(outcome.kinds.contains(.resurrected))
    }

    @Test func `the newer row stays as it is`() throws {
        let item = Sample.item(
            Sample.row(of: newer), [newer, Sample.stated("1000", .billingRetry)])
        let outcome = try outcome(item, of: "3000")
        #expect(outcome.verdict == .match)
        #expect(outcome.corrections.isEmpty)
    }

    @Test func `an old id that ended is inserted as ever`() throws {
        let outcome = try outcomeOfOld(Sample.stated("1000", .expired))
        #expect(outcome.corrections.map(\.kinds) == [[.missingLocally]])
    }

    @Test func `a newer id in billing retry is inserted beside an older one`() throws {
        let retry = Sample.stated("5000", .billingRetry) {
            $0.transaction.originalPurchaseDate = Sample.now(days: -5)
        }
        #expect(try outcomeOfOld(retry).corrections.map(\.kinds) == [[.missingLocally]])
    }
}
