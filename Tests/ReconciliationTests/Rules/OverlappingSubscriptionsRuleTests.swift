import Reconciliation
import Subscriptions
import Testing

@Suite struct `The overlapping subscriptions rule` {
    private func second(
        _ status: SubscriptionStatus = .active, began days: Int64 = -50,
        _ change: (inout StatedSubscription) -> Void = { _ in }
    ) -> StatedSubscription {
        Sample.stated("3000", status) {
            $0.transaction.originalPurchaseDate = Sample.now(days: days)
            change(&$0)
        }
    }

    private func outcomes(_ other: StatedSubscription) -> [RowOutcome] {
        let item = Sample.item(
            Sample.row(), [Sample.stated(), other], held: [Sample.row(of: other)])
        return Reconciliation.outcomes(of: item, policy: Sample.policy())
    }

    @Test func `reports a pair once, on the later one`() throws {
        let outcomes = outcomes(second())
        #expect(outcomes.map(\.verdict) == [.match, .discrepancy])
        let finding = try outcomes[1].finding(.overlappingSubscriptions)
        #expect(finding.severity == .medium)
        #expect(finding.appleValue == .text(Sample.id))
        #expect(finding.direction == .customerLoses)
        #expect(finding.amount == 10_990)
        #expect(outcomes[1].corrections.isEmpty)
    }

    @Test func `goes by the beginning, not by the id`() {
        #expect(outcomes(second(began: -200)).map(\.verdict) == [.discrepancy, .match])
    }

    @Test func `is silent unless both entitle, are paid for and share a group`() {
        let others = [
            second(.expired), second(.revoked),
            second { $0.transaction.inAppOwnershipType = "FAMILY_SHARED" },
            second { $0.transaction.isUpgraded = true },
            second { $0.transaction.subscriptionGroupID = "another" },
        ]
        for other in others {
            #expect(outcomes(other).map(\.verdict) == [.match, .match])
        }
    }

    @Test func `goes to a subscription that we are about to take in, too`() throws {
        let item = Sample.item(Sample.row(), [Sample.stated(), second()])
        let outcome = try outcome(item, of: "3000")
        #expect(outcome.kinds == [.missingLocally, .overlappingSubscriptions])
        #expect(outcome.corrections.count == 1)
    }

    @Test func `leaves a row in flight alone`() {
        let young = Sample.row(of: second()) { $0.signedDate = Sample.now(minutes: -1) }
        let item = Sample.item(Sample.row(), [Sample.stated(), second()], held: [young])
        let outcomes = Reconciliation.outcomes(of: item, policy: Sample.policy())
        #expect(outcomes.map(\.verdict) == [.match, .excluded(.inFlight)])
        #expect(outcomes.allSatisfy { $0.findings.isEmpty })
    }
}
