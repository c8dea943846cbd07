import Reconciliation
import Subscriptions
import Testing

@Suite struct `The contradiction rule` {
    private func expectContradiction(
        _ stated: StatedSubscription, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let row = Sample.row { $0.productID = "silver.monthly" }
        let outcome = try outcome(row, beside: stated, sourceLocation: sourceLocation)
        #expect(outcome.verdict == .undecided(.contradiction), sourceLocation: sourceLocation)
        #expect(outcome.kinds == [.contradiction], sourceLocation: sourceLocation)
        #expect(outcome.findings[0].severity == .medium, sourceLocation: sourceLocation)
        #expect(outcome.corrections.isEmpty, sourceLocation: sourceLocation)
        #expect(outcome.hasAllEvidence, sourceLocation: sourceLocation)
    }

    @Test(arguments: [SubscriptionStatus.active, .billingGracePeriod])
    func `finds access that is signed as revoked`(status: SubscriptionStatus) throws {
        try expectContradiction(
            Sample.stated(Sample.id, status) {
                $0.transaction.revocationDate = Sample.now(days: -1)
            })
    }

    @Test func `a prorated refund ends no access and contradicts nothing`() throws {
        let stated = Sample.stated {
            $0.transaction.revocationDate = Sample.now(days: -1)
            $0.transaction.revocationType = "REFUND_PRORATED"
        }
        let outcome = try outcome(Sample.row(), beside: stated)
        #expect(!outcome.kinds.contains(.contradiction))
        #expect(outcome.verdict == .match)
    }

    @Test func `finds an active subscription that is signed as long ended`() throws {
        try expectContradiction(
            Sample.stated {
                $0.transaction.expiresDate = Sample.now(days: -2)
                $0.renewal.renewalDate = Sample.now(days: -2)
            })
    }

    @Test(arguments: [SubscriptionStatus.expired, .billingRetry])
    func `finds an ended subscription that is signed as running`(
        status: SubscriptionStatus
    ) throws {
        try expectContradiction(
            Sample.stated(Sample.id, status) {
                $0.transaction.expiresDate = Sample.now(days: 2)
            })
    }

    @Test(arguments: ["PURCHASED", "FAMILY_SHARED"])
    func `finds a revocation without a signed date, the end of Family Sharing included`(
        ownership: String
    ) throws {
        try expectContradiction(
            Sample.stated(Sample.id, .revoked) {
                $0.transaction.revocationDate = nil
                $0.transaction.inAppOwnershipType = ownership
            })
    }

    @Test func `finds a grace period that is long past, or that has nothing to be grace for`()
        throws
    {
        try expectContradiction(
            Sample.stated(Sample.id, .billingGracePeriod) {
                $0.renewal.gracePeriodExpiresDate = Sample.now(days: -2)
            })
        try expectContradiction(
            Sample.stated(Sample.id, .billingGracePeriod) {
                $0.renewal.gracePeriodExpiresDate = nil
                $0.renewal.isInBillingRetryPeriod = nil
                $0.transaction.expiresDate = Sample.now(days: 20)
            })
    }

    @Test(arguments: [
        Sample.stated {
            $0.transaction.expiresDate = Sample.now(minutes: -60)
            $0.renewal.renewalDate = Sample.now(minutes: -60)
        },
        Sample.stated {
            $0.transaction.expiresDate = Sample.now(days: -3)
            $0.renewal.renewalDate = Sample.now(days: 9)
        },
        Sample.stated(Sample.id, .expired) {
            $0.transaction.expiresDate = Sample.now(days: 9)
            $0.transaction.isUpgraded = true
        },
        Sample.stated(Sample.id, .billingRetry) {
            $0.transaction.expiresDate = Sample.now(minutes: 600)
        },
        Sample.stated(Sample.id, .billingGracePeriod) {
            $0.renewal.gracePeriodExpiresDate = nil
        },
        Sample.stated(Sample.id, .billingGracePeriod) {
            $0.renewal.isInBillingRetryPeriod = false
        },
        Sample.stated(Sample.id, .revoked) {
            $0.transaction.inAppOwnershipType = "FAMILY_SHARED"
        },
        Sample.stated(Sample.id, .revoked) { $0.transaction.revocationType = "REFUND_PRORATED" },
        Sample.stated(Sample.id, .expired) { $0.renewal.isInBillingRetryPeriod = false },
        Sample.stated(Sample.id, .billingRetry) {
            $0.renewal.gracePeriodExpiresDate = Sample.now(minutes: -1)
        },
    ])
    func `leaves Apple's harmless quirks alone`(stated: StatedSubscription) throws {
        #expect(try outcome(Sample.row(of: stated), beside: stated).verdict == .match)
    }

    @Test func `allows for late bookings and early charges, and for nothing longer`() throws {
        try expectContradiction(
            Sample.stated {
                $0.transaction.expiresDate = Sample.now(minutes: -90)
                $0.renewal.renewalDate = Sample.now(minutes: -90)
            })
        try expectContradiction(
            Sample.stated(Sample.id, .expired) {
                $0.transaction.expiresDate = Sample.now(minutes: 5)
            })
        try expectContradiction(
            Sample.stated(Sample.id, .billingRetry) {
                $0.transaction.expiresDate = Sample.now(minutes: 600)
                $0.renewal.isInBillingRetryPeriod = nil
            })
        try expectContradiction(
            Sample.stated(Sample.id, .billingGracePeriod) {
                $0.transaction.expiresDate = Sample.now(days: -60)
                $0.renewal.renewalDate = Sample.now(days: -60)
                $0.renewal.gracePeriodExpiresDate = nil
            })
    }

    @Test func `finds access of a customer whose cancelled period has just ended`() throws {
        try expectContradiction(
            Sample.stated {
                $0.transaction.expiresDate = Sample.now(minutes: -10)
                $0.renewal.renewalDate = Sample.now(minutes: -10)
                $0.renewal.expirationIntent = 1
            })
    }

    @Test(arguments: [SubscriptionStatus.expired, .billingRetry])
    func `finds an end beside an extension that moved only the renewal date`(
        status: SubscriptionStatus
    ) throws {
        try expectContradiction(
            Sample.stated(Sample.id, status) {
                $0.transaction.expiresDate = Sample.now(days: -3)
                $0.renewal.renewalDate = Sample.now(days: 9)
                $0.renewal.isInBillingRetryPeriod = nil
            })
    }

    @Test func `measures from the signature, not from our clock`() throws {
        let stated = Sample.stated {
            $0.transaction.signedDate = Sample.now(days: -60)
            $0.renewal.signedDate = Sample.now(days: -60)
            $0.transaction.expiresDate = Sample.now(days: -40)
            $0.renewal.renewalDate = Sample.now(days: -40)
        }
        let row = Sample.row(of: stated) { $0.signedDate = Sample.now(days: -90) }
        #expect(try outcome(row, beside: stated).verdict == .match)
    }

    @Test func `keeps a contradicted subscription out of the table`() throws {
        let sibling = Sample.stated("3000") {
            $0.transaction.revocationDate = Sample.now(days: -1)
        }
        let outcome = try outcome(
            Sample.item(Sample.row(), [Sample.stated(), sibling]), of: "3000")
        #expect(outcome.kinds == [.contradiction, .missingLocally])
        #expect(try outcome.finding(.missingLocally).severity == .high)
        #expect(outcome.corrections.isEmpty)
    }
}
