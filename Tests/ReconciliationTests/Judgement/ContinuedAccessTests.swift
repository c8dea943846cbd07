import Reconciliation
import Subscriptions
import Testing

@Suite struct `Continued access` {
    /// An id that gives access at ours and no longer at Apple's, beside another subscription.
    private func outcomes(
        ended: SubscriptionStatus, beside other: StatedSubscription, isHeld: Bool = true,
        ours: Int = 1, policy: Policy = Sample.policy(),
        _ change: (inout LocalSubscription) -> Void = { _ in }
    ) -> [RowOutcome] {
        let old = Sample.stated(Sample.id, ended)
        let item = Sample.item(
            Sample.row(of: old) { $0.status = ours }, [old, other],
            held: isHeld ? [Sample.row(of: other, change)] : [])
        return Reconciliation.outcomes(of: item, policy: policy)
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

    private func expectHeldBack(
        _ outcome: RowOutcome, _ kind: FindingKind = .accessUnpaid,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(outcome.verdict == .discrepancy, sourceLocation: sourceLocation)
        #expect(outcome.corrections.isEmpty, sourceLocation: sourceLocation)
        let finding = try outcome.finding(kind)
        #expect(finding.action == .refused, sourceLocation: sourceLocation)
        #expect(
            finding.cause == "held back until 3000 is in the table",
            sourceLocation: sourceLocation)
    }

    @Test(arguments: [SubscriptionStatus.expired, .billingRetry, .revoked])
    func `an ended id is corrected once the other one stands in the table as entitling`(
        ended: SubscriptionStatus
    ) throws {
        for live in [newer(), newer(.billingGracePeriod)] {
            let outcome = outcomes(ended: ended, beside: live)[0]
            let kind: FindingKind = ended == .revoked ? .revocationMissed : .accessUnpaid
            #expect(try outcome.finding(kind).action == .planned)
            #expect(outcome.corrections.map(\.continuedBy) == [["3000"]])
            #expect(outcome.hasAllEvidence)
        }
    }

    @Test func `goes with the insert of the other one`() throws {
        let outcomes = outcomes(ended: .expired, beside: newer(), isHeld: false)
        #expect(outcomes.map { $0.corrections.map(\.continuedBy) } == [[["3000"]], [[]]])
        #expect(outcomes[1].corrections.map(\.kinds) == [[.missingLocally]])
    }

    @Test(arguments: [2, 3, 5, nil])
    func `goes with the correction of the other one`(status: Int?) throws {
        let outcomes = outcomes(ended: .expired, beside: newer()) { $0.status = status }
        #expect(outcomes.map { $0.corrections.map(\.continuedBy) } == [[["3000"]], [[]]])
    }

    @Test func `waits where the other one is only reported`() throws {
        let foreign = newer { $0.transaction.appAccountToken = String(repeating: "1", count: 36) }
        let outcomes = outcomes(ended: .expired, beside: foreign, isHeld: false)
        try expectHeldBack(outcomes[0])
        #expect(try outcomes[1].finding(.missingLocally).action == .refused)
        let narrowed = Sample.policy { $0.onlyKinds = [.accessUnpaid] }
        try expectHeldBack(
            self.outcomes(
                ended: .expired, beside: newer(), isHeld: false, policy: narrowed)[0])
    }

    @Test func `waits where the other one may not be written, or is another customer's`() throws {
        let foreignToken = outcomes(ended: .revoked, beside: newer()) {
            $0.appAccountToken = "00000000-0000-4000-8000-000000000001"
        }
        try expectHeldBack(foreignToken[0], .revocationMissed)
        let reportOnly = Sample.policy { $0.reportOnlyFields.insert("status") }
        let unwritten = outcomes(ended: .expired, beside: newer(), policy: reportOnly) {
            $0.status = 2
        }
        #expect(unwritten.flatMap(\.corrections).isEmpty)
    }

    @Test func `a row of another customer gives this one nothing`() {
        let outcomes = outcomes(ended: .expired, beside: newer()) {
            $0.customerID = "customer 2"
            $0.status = 2
        }
        #expect(outcomes[0].corrections.map(\.continuedBy) == [[]])
    }

    @Test func `waits too where the answer came by an id that was migrated`() throws {
        let old = Sample.stated(Sample.id, .expired)
        let successor = newer { $0.transaction.previousOriginalTransactionID = "1000" }
        let item = Sample.item(
            Sample.row(of: Sample.stated("1000")), [old, successor],
            held: [Sample.row(of: old) { $0.status = 1 }])
        try expectHeldBack(outcome(item, of: Sample.id))
    }

    @Test func `a family's share counts as access`() {
        let shared = newer { $0.transaction.inAppOwnershipType = "FAMILY_SHARED" }
        #expect(
            outcomes(ended: .expired, beside: shared)[0].corrections.map(\.continuedBy)
                == [["3000"]])
    }

    @Test func `a prorated refund of the other one ends no access`() throws {
        let prorated = newer {
            $0.transaction.revocationDate = Sample.now(days: -1)
            $0.transaction.revocationType = "REFUND_PRORATED"
        }
        #expect(
            outcomes(ended: .expired, beside: prorated)[0].corrections.map(\.continuedBy)
                == [["3000"]])
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
            #expect(corrections.map(\.continuedBy) == [[]])
        }
    }

    /// Another group may grant the same: `pro` by the month, and `pro` in a bundle.
    @Test func `continues by another group that grants an entitlement of it`() throws {
        let bundle = newer {
            $0.transaction.subscriptionGroupID = "another"
            $0.subscriptionGroupID = "another"
            $0.transaction.productID = "bundle"
        }
        let product = try #require(Sample.row().productID)
        func continued(
            _ grants: [String], isHeld: Bool = true, onlyKinds: Set<FindingKind>? = nil
        ) -> [RowOutcome] {
            let catalogue = ProductCatalogue(products: [
                product: CatalogueProduct(grants: ["pro", "archive"]),
                "bundle": CatalogueProduct(grants: grants),
            ])
            return outcomes(
                ended: .expired, beside: bundle, isHeld: isHeld,
                policy: Sample.policy {
                    $0.catalogue = catalogue
                    if let onlyKinds { $0.onlyKinds = onlyKinds }
                })
        }
        #expect(continued(["pro"])[0].corrections.map(\.continuedBy) == [["3000"]])
        #expect(continued(["coins"])[0].corrections.map(\.continuedBy) == [[]])
        #expect(continued([])[0].corrections.map(\.continuedBy) == [[]])
        let inserted = continued(["archive"], isHeld: false)
        #expect(inserted.map { $0.corrections.map(\.continuedBy) } == [[["3000"]], [[]]])
        try expectHeldBack(continued(["pro"], isHeld: false, onlyKinds: [.accessUnpaid])[0])
    }

    @Test func `other corrections of the id go on`() {
        let outcome = outcomes(ended: .expired, beside: newer(), ours: 3)[0]
        #expect(outcome.corrections.map(\.kinds) == [[.status]])
        #expect(outcome.corrections.map(\.continuedBy) == [[]])
    }
}
