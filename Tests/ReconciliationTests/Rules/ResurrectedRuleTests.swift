import Reconciliation
import Subscriptions
import Testing

@Suite struct `The resurrected rule` {
    private func outcomes(
        old: StatedSubscription, newer: StatedSubscription
    ) -> [RowOutcome] {
        let item = Sample.item(
            Sample.row(of: old), [newer, old], held: [Sample.row(of: newer)])
        return Reconciliation.outcomes(of: item, policy: Sample.policy())
    }

    private func newer(_ status: SubscriptionStatus = .active) -> StatedSubscription {
        Sample.stated("3000", status) {
            $0.transaction.originalPurchaseDate = Sample.now(days: -20)
        }
    }

    @Test func `reports an old id in billing retry beside a newer one that entitles`() throws {
        let outcomes = outcomes(old: Sample.stated(Sample.id, .billingRetry), newer: newer())
        #expect(outcomes.map(\.verdict) == [.discrepancy, .match])
        let finding = try outcomes[0].finding(.resurrected)
        #expect(finding.severity == .high)
        #expect(finding.appleValue == .text("3000"))
        #expect(outcomes[0].corrections.isEmpty)
    }

    @Test func `corrects the row's own drift beside it`() throws {
        let old = Sample.stated(Sample.id, .billingRetry)
        let item = Sample.item(
            Sample.row(of: old) { $0.status = 2 }, [newer(), old],
            held: [Sample.row(of: newer())])
        let outcome = try outcome(item)
        #expect(outcome.kinds == [.resurrected, .status])
        #expect(outcome.corrections.map(\.kinds) == [[.status]])
    }

    @Test func `counts the grace period as billing retry`() {
        let outcomes = outcomes(
            old: Sample.stated(Sample.id, .billingGracePeriod), newer: newer())
        #expect(outcomes[0].kinds == [.resurrected])
        #expect(outcomes[1].kinds == [.overlappingSubscriptions])
    }

    @Test func `is silent where the other one is older, ended or another group's`() {
        let retry = Sample.stated(Sample.id, .billingRetry)
        let older = Sample.stated("3000") {
            $0.transaction.originalPurchaseDate = Sample.now(days: -900)
        }
        let elsewhere = Sample.stated("3000") {
            $0.transaction.originalPurchaseDate = Sample.now(days: -20)
            $0.transaction.subscriptionGroupID = "another"
        }
        for other in [older, newer(.expired), elsewhere] {
            #expect(outcomes(old: retry, newer: other).map(\.verdict) == [.match, .match])
        }
    }
}
