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

    /// The answer about the asked row, whose customer pays for another one under another account.
    private func judged(
        beside id: String, group: String = "group", lasts: Bool = true, isKnown: Bool = false,
        also others: [StatedSubscription] = []
    ) throws -> RowOutcome {
        let item = Sample.item(
            Sample.row(), [Sample.stated()] + others, held: others.map { Sample.row(of: $0) }
        ) { item in
            item.asked?.neighbours = [
                PaidNeighbour(
                    originalTransactionID: id, group: group,
                    clock: Sample.now(days: lasts ? 5 : -5))
            ]
            item.asked?.isKnownOverlap = isKnown
        }
        return try outcome(item)
    }

    @Test func `reports a subscription of another account beside an earlier one`() throws {
        let outcome = try judged(beside: "2000000000000099")
        #expect(outcome.verdict == .discrepancy)
        let finding = try outcome.finding(.overlappingSubscriptions)
        #expect(finding.severity == .medium)
        #expect(finding.field == "original_transaction_id")
        #expect(finding.localValue == .text(Sample.id))
        #expect(finding.appleValue == .text("2000000000000099"))
        #expect(finding.cause == Finding.causeTwoAccounts)
        #expect(outcome.corrections.isEmpty)
        #expect(outcome.hasAllEvidence)
    }

    @Test func `leaves the pair to the later one's row`() throws {
        #expect(try judged(beside: "2000000000000101").verdict == .match)
        // A shorter id is an earlier one.
        #expect(try judged(beside: "900000000000000").verdict == .discrepancy)
    }

    @Test func `pairs nothing of another group, and nothing that the answer shows itself`() throws {
        #expect(try judged(beside: "2000000000000099", group: "another").verdict == .match)
        let ended = Sample.stated("2000000000000099", .expired)
        #expect(try judged(beside: "2000000000000099", also: [ended]).verdict == .match)
    }

    @Test func `keeps what is known until Apple was asked whether the other one was renewed`()
        throws
    {
        #expect(try judged(beside: "2000000000000099", lasts: false).verdict == .match)
        let known = try judged(beside: "2000000000000099", lasts: false, isKnown: true)
        #expect(known.kinds == [.overlappingSubscriptions])
    }

    @Test func `notes what is paid for, and by which customer`() throws {
        func group(_ stated: StatedSubscription) throws -> String? {
            let judged = try outcome(Sample.row(of: stated), beside: stated)
            #expect(judged.payer?.customer == CustomerDigest(ofID: "customer 1"))
            return judged.payer?.paidGroup
        }
        #expect(try group(Sample.stated()) == "group")
        #expect(try group(Sample.stated(Sample.id, .billingGracePeriod)) == "group")
        for status in [SubscriptionStatus.billingRetry, .expired, .revoked] {
            #expect(try group(Sample.stated(Sample.id, status)) == nil)
        }
        #expect(
            try group(Sample.stated { $0.transaction.inAppOwnershipType = "FAMILY_SHARED" }) == nil)
        #expect(try group(Sample.stated { $0.transaction.isUpgraded = true }) == nil)
        for nobody in [nil, ""] {
            let row = Sample.row { $0.customerID = nobody }
            #expect(try outcome(row, beside: Sample.stated()).payer == nil)
        }
    }
}
