import Reconciliation
import Subscriptions
import Testing

struct AccessContinuesRestraintTests {
    /// An id that gives access at ours and no longer at Apple's, beside another subscription.
    private func outcomes(
        ended: SubscriptionStatus, beside other: StatedSubscription, isHeld: Bool = true,
        ours: Int = 1
    ) -> [RowOutcome] {
        let old = Sample.stated(Sample.id, ended)
        let item = Sample.item(
            Sample.row(of: old) { $0.status = ours }, [old, other],
            held: isHeld ? [Sample.row(of: other)] : [])
        return judge(item, policy: Sample.policy())
    }

    private func newer(
        _ status: SubscriptionStatus = .active,
        _ change: (inout StatedSubscription) -> Void = { _ in }
    ) -> StatedSubscription {
        Sample.stated("3000", status) {
            $0.transaction.originalPurchaseDate = Sample.now(days: -20)
            change(&$0)
        }
    }

    @Test(arguments: [SubscriptionStatus.expired, .billingRetry, .revoked])
    func `never ends access while another subscription of the group gives it`(
        ended: SubscriptionStatus
    ) throws {
        for live in [newer(), newer(.billingGracePeriod)] {
            let outcome = outcomes(ended: ended, beside: live)[0]
            #expect(outcome.verdict == .discrepancy)
            #expect(outcome.corrections.isEmpty)
            let kind: FindingKind = ended == .revoked ? .revocationMissed : .accessUnpaid
            let finding = try outcome.finding(kind)
            #expect(finding.action == .refused)
            #expect(
                finding.cause == "another subscription of the customer in the group gives access")
            #expect(outcome.hasAllEvidence)
        }
    }

    @Test func `holds whether or not the other one is in our table`() throws {
        let outcomes = outcomes(ended: .expired, beside: newer(), isHeld: false)
        #expect(try outcomes[0].finding(.accessUnpaid).action == .refused)
        #expect(outcomes[0].corrections.isEmpty)
        #expect(outcomes[1].corrections.map(\.kinds) == [[.missingLocally]])
    }

    @Test func `a family's share counts as access`() {
        let shared = newer { $0.transaction.inAppOwnershipType = "FAMILY_SHARED" }
        #expect(outcomes(ended: .expired, beside: shared)[0].corrections.isEmpty)
    }

    @Test func `ends access where nothing else gives it`() {
        let elsewhere = newer {
            $0.transaction.subscriptionGroupID = "another"
            $0.subscriptionGroupID = "another"
        }
        let refunded = newer { $0.transaction.revocationDate = Sample.now(days: -1) }
        let upgraded = newer { $0.transaction.isUpgraded = true }
        for other in [elsewhere, newer(.expired), newer(.billingRetry), refunded, upgraded] {
            let corrections = outcomes(ended: .expired, beside: other)[0].corrections
            #expect(corrections.map(\.kinds).joined().contains(.accessUnpaid))
        }
    }

    @Test func `other corrections of the id go on`() {
        let outcome = outcomes(ended: .expired, beside: newer(), ours: 3)[0]
        #expect(outcome.corrections.map(\.kinds) == [[.status]])
    }
}
