import Reconciliation
import Subscriptions
import Testing

@Suite struct `When a change happened at Apple` {
    private func date(
        of kind: FindingKind, _ row: LocalSubscription, _ stated: StatedSubscription
    ) throws -> Timestamp? {
        try outcome(row, beside: stated).finding(kind).changedAt
    }

    @Test func `is the beginning of a period that our row does not know`() throws {
        let stated = Sample.stated()
        let row = Sample.row {
            $0.status = 2
            $0.expiresDate = Sample.now(days: -10)
            $0.webOrderLineItemID = "another"
        }
        #expect(try date(of: .accessMissing, row, stated) == stated.transaction.purchaseDate)
        #expect(try date(of: .expiry, row, stated) == stated.transaction.purchaseDate)
    }

    @Test func `is not certain where the period is known, or was recovered in grace`() throws {
        let known = Sample.row { $0.status = 2 }
        #expect(try date(of: .accessMissing, known, Sample.stated()) == nil)
        let recovered = Sample.row {
            $0.status = 3
            $0.webOrderLineItemID = "another"
        }
        #expect(try date(of: .accessMissing, recovered, Sample.stated()) == nil)
    }

    @Test func `is the end of the period, or the revocation`() throws {
        let expired = Sample.stated(Sample.id, .expired)
        #expect(
            try date(of: .accessUnpaid, Sample.row(of: expired) { $0.status = 1 }, expired)
                == expired.transaction.expiresDate)
        #expect(
            try date(of: .accessUnpaid, Sample.row(of: expired) { $0.status = 4 }, expired) == nil)
        let revoked = Sample.stated(Sample.id, .revoked)
        #expect(
            try date(of: .revocationMissed, Sample.row(of: revoked) { $0.status = 1 }, revoked)
                == revoked.transaction.revocationDate)
        let grace = Sample.stated(Sample.id, .billingGracePeriod)
        #expect(
            try date(of: .graceMissed, Sample.row(of: grace) { $0.status = 1 }, grace)
                == grace.transaction.expiresDate)
    }

    @Test func `is unknown of a renewal preference`() throws {
        let stated = Sample.stated { $0.renewal.autoRenewStatus = 0 }
        #expect(try date(of: .renewalPreference, Sample.row(), stated) == nil)
    }
}
