import Subscriptions
import Testing

@Suite struct `An event of the business` {
    private static let evidence = SignedPayload(
        digest: EvidenceDigest(hexadecimal: String(repeating: "a", count: 64)), jws: "jws")

    private static func transaction(
        _ change: (inout SignedTransaction) -> Void = { _ in }
    ) -> SignedTransaction {
        var transaction = SignedTransaction(
            evidence: evidence, transactionID: "2", originalTransactionID: "1",
            signedDate: Timestamp(unixMilliseconds: 0))
        transaction.productID = "pro.monthly"
        transaction.inAppOwnershipType = "PURCHASED"
        change(&transaction)
        return transaction
    }

    private static func event(
        _ type: String, _ subtype: String? = nil,
        _ change: (inout SignedTransaction) -> Void = { _ in }
    ) -> BusinessEvent? {
        BusinessEvent(
            type: type, subtype: subtype, transaction: transaction(change), renewal: nil)
    }

    private static let kinds: [(String, String?, BusinessEventKind)] = [
        ("SUBSCRIBED", "INITIAL_BUY", .purchase),
        ("SUBSCRIBED", "RESUBSCRIBE", .resubscription),
        ("DID_RENEW", nil, .renewal),
        ("DID_RENEW", "BILLING_RECOVERY", .billingRecovery),
        ("DID_FAIL_TO_RENEW", nil, .billingRetry),
        ("DID_FAIL_TO_RENEW", "GRACE_PERIOD", .billingRetry),
        ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", .cancellationScheduled),
        ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED", .cancellationWithdrawn),
        ("EXPIRED", "VOLUNTARY", .expiry), ("EXPIRED", nil, .expiry),
        ("REFUND", nil, .refund), ("REFUND_REVERSED", nil, .refundReversal),
    ]

    @Test(arguments: kinds)
    func `follows from type and subtype`(
        type: String, subtype: String?, kind: BusinessEventKind
    ) {
        #expect(
            Self.event(type, subtype) == BusinessEvent(kind: kind, productID: "pro.monthly"))
    }

    @Test func `a first purchase without a price is a trial, another offer is none`() {
        let free = Self.event("SUBSCRIBED", "INITIAL_BUY") { $0.offerDiscountType = "FREE_TRIAL" }
        #expect(free?.kind == .trial)
        let cheap = Self.event("SUBSCRIBED", "INITIAL_BUY") {
            $0.offerType = 1
            $0.offerDiscountType = "PAY_AS_YOU_GO"
        }
        #expect(cheap?.kind == .purchase)
        let again = Self.event("SUBSCRIBED", "RESUBSCRIBE") { $0.offerDiscountType = "FREE_TRIAL" }
        #expect(again?.kind == .resubscription)
    }

    @Test func `other notifications are none`() {
        for type in ["TEST", "REVOKE", "CONSUMPTION_REQUEST", "REFUND_DECLINED", "LATER_TYPE"] {
            #expect(Self.event(type) == nil)
        }
        #expect(Self.event("DID_CHANGE_RENEWAL_STATUS") == nil)
    }

    @Test(arguments: [
        ("REFUND", "SEATS"), ("DID_CHANGE_RENEWAL_PREF", "INCREASE_QUANTITY"),
        ("SUBSCRIBED", "INCREASE_QUANTITY"), ("DID_RENEW", "DECREASE_QUANTITY"),
    ])
    func `another number of seats is none, a refund of some seats included`(
        type: String, subtype: String
    ) {
        #expect(Self.event(type, subtype) == nil)
    }

    @Test func `who does not pay is not counted`() {
        for type in ["FAMILY_SHARED", "ASSIGNED", "LATER_VALUE"] {
            #expect(Self.event("SUBSCRIBED", "INITIAL_BUY") { $0.inAppOwnershipType = type } == nil)
        }
        #expect(Self.event("DID_RENEW") { $0.inAppOwnershipType = nil } != nil)
    }

    @Test func `renewal info alone names the product, nothing signed names no event`() {
        var renewal = SignedRenewal(
            evidence: Self.evidence, originalTransactionID: "1",
            signedDate: Timestamp(unixMilliseconds: 0))
        renewal.productID = "pro.yearly"
        let event = BusinessEvent(
            type: "DID_CHANGE_RENEWAL_STATUS", subtype: "AUTO_RENEW_DISABLED", transaction: nil,
            renewal: renewal)
        #expect(event == BusinessEvent(kind: .cancellationScheduled, productID: "pro.yearly"))
        #expect(
            BusinessEvent(type: "DID_RENEW", subtype: nil, transaction: nil, renewal: nil) == nil)
    }

    @Test func `a day begins at midnight UTC, before 1970 too`() {
        for (milliseconds, day) in [
            (0, 0), (86_399_999, 0), (86_400_000, 1), (-1, -1), (-86_400_000, -1),
        ] as [(Int64, Int64)] {
            #expect(Timestamp(unixMilliseconds: milliseconds).dayNumber == day)
        }
    }
}
