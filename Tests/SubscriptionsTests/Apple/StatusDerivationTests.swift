import Subscriptions
import Testing

@Suite struct `The derivation of a status` {
    private static let signed = Timestamp(unixMilliseconds: 1_790_000_000_000)
    private static let past = signed.adding(milliseconds: -1)
    private static let future = signed.adding(milliseconds: 1)

    private func derivation(
        _ body: (inout SignedStatusFields) -> Void
    ) -> SignedStatusFields {
        var fields = SignedStatusFields(signedDate: Self.signed)
        fields.expiresDate = Self.past
        body(&fields)
        return fields
    }

    @Test func `takes the first field that decides`() {
        #expect(derivation { _ in }.status == .expired)
        #expect(derivation { $0.expiresDate = nil }.status == .expired)
        #expect(derivation { $0.expiresDate = Self.signed }.status == .expired)
        #expect(derivation { $0.expiresDate = Self.future }.status == .active)
        #expect(derivation { $0.renewalDate = Self.future }.status == .active)
        #expect(
            derivation {
                $0.expiresDate = Self.future
                $0.isUpgraded = true
            }.status == .expired)
        #expect(derivation { $0.isInBillingRetryPeriod = true }.status == .billingRetry)
        #expect(derivation { $0.isInBillingRetryPeriod = false }.status == .expired)
        #expect(
            derivation {
                $0.isInBillingRetryPeriod = true
                $0.gracePeriodExpiresDate = Self.future
            }.status == .billingGracePeriod)
        #expect(
            derivation {
                $0.isInBillingRetryPeriod = true
                $0.gracePeriodExpiresDate = Self.past
            }.status == .billingRetry)
        #expect(
            derivation {
                $0.gracePeriodExpiresDate = Self.future
                $0.revocationDate = Self.past
            }.status == .revoked)
    }

    @Test func `does not take a prorated refund for a revocation`() {
        let refunded = derivation {
            $0.expiresDate = Self.future
            $0.revocationDate = Self.past
            $0.revocationType = "REFUND_PRORATED"
        }
        #expect(refunded.status == .active)
    }

    @Test func `names every field, and whose word a status is`() {
        let retried = derivation { $0.isInBillingRetryPeriod = true }
        let fields = """
            (signedDate 2026-09-21T14:13:20.000Z, expiresDate 2026-09-21T14:13:19.999Z, \
            renewalDate none, revocationDate none, revocationType none, isUpgraded false, \
            isInBillingRetryPeriod true, gracePeriodExpiresDate none)
            """
        #expect(
            retried.sentence(forStatus: 3) == "status 3: isInBillingRetryPeriod is true " + fields)
        #expect(
            retried.sentence(forStatus: 4)
                == "status 4 is Apple's unsigned word, which the signed fields do not contradict; "
                + "alone they give 3: isInBillingRetryPeriod is true " + fields)
    }
}
