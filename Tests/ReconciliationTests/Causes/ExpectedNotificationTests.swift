import Reconciliation
import Subscriptions
import Testing

/// Which notification is taken for the one that should have brought a change.
@Suite struct `The expected notification` {
    static let status: [(ours: Int, apple: Int, type: String, subtype: String?)] = [
        (2, 1, "DID_RENEW", nil), (3, 1, "DID_RENEW", "BILLING_RECOVERY"),
        (2, 1, "SUBSCRIBED", "RESUBSCRIBE"), (2, 1, "RENEWAL_EXTENDED", nil),
        (2, 1, "DID_CHANGE_RENEWAL_PREF", "UPGRADE"), (1, 4, "DID_FAIL_TO_RENEW", "GRACE_PERIOD"),
        (1, 3, "DID_FAIL_TO_RENEW", nil), (4, 3, "GRACE_PERIOD_EXPIRED", nil),
        (1, 2, "EXPIRED", "VOLUNTARY"), (3, 2, "EXPIRED", "BILLING_RETRY"), (1, 2, "EXPIRED", nil),
        (1, 5, "REFUND", nil), (1, 5, "REVOKE", nil), (5, 1, "REFUND_REVERSED", nil),
    ]
    static let unrelated: [(ours: Int, apple: Int, type: String, subtype: String?)] = [
        (1, 3, "DID_FAIL_TO_RENEW", "GRACE_PERIOD"), (1, 4, "DID_FAIL_TO_RENEW", nil),
        (1, 2, "DID_RENEW", nil), (2, 1, "DID_CHANGE_RENEWAL_PREF", "DOWNGRADE"),
        (2, 1, "REFUND_DECLINED", nil), (5, 1, "DID_RENEW", nil), (1, 5, "REFUND_REVERSED", nil),
        (1, 6, "EXPIRED", nil), (1, 5, "REFUND", "SEATS"),
    ]

    private func isMatched(_ finding: Finding, _ type: String, _ subtype: String?) -> Bool {
        let sent = Told.notification(type, subtype, (0, "TIMED_OUT"))
        return Told.search().cause(of: finding, among: [sent])?.notification != nil
    }

    private func finding(_ ours: Int, _ apple: Int) -> Finding {
        Told.finding(.status, ours: .integer(Int64(ours)), apple: .integer(Int64(apple)))
    }

    @Test(arguments: status.indices)
    func `fits the change of status`(index: Int) {
        let expected = Self.status[index]
        #expect(
            isMatched(finding(expected.ours, expected.apple), expected.type, expected.subtype),
            "\(expected)")
    }

    @Test(arguments: unrelated.indices)
    func `is none that tells of something else`(index: Int) {
        let other = Self.unrelated[index]
        #expect(
            !isMatched(finding(other.ours, other.apple), other.type, other.subtype), "\(other)")
    }

    static let kinds: [(kind: FindingKind, type: String, subtype: String?)] = [
        (.product, "DID_CHANGE_RENEWAL_PREF", "UPGRADE"), (.product, "DID_RENEW", nil),
        (.latestTransaction, "DID_RENEW", nil), (.ownership, "REVOKE", nil),
        (.revocationDate, "REFUND", nil), (.missingLocally, "SUBSCRIBED", "INITIAL_BUY"),
        (.graceMissed, "DID_FAIL_TO_RENEW", "GRACE_PERIOD"),
    ]

    @Test(arguments: kinds.indices)
    func `fits the kind`(index: Int) {
        let expected = Self.kinds[index]
        let finding = Told.finding(
            expected.kind, .gracePeriodExpiresDate, ours: .text("a"), apple: .text("b"))
        #expect(isMatched(finding, expected.type, expected.subtype), "\(expected)")
        #expect(!isMatched(finding, "PRICE_INCREASE", "PENDING"))
    }

    @Test func `of a renewal preference follows the column and Apple's value`() {
        let off = Told.finding(
            .renewalPreference, .autoRenewStatus, ours: .integer(1), apple: .integer(0))
        let on = Told.finding(
            .renewalPreference, .autoRenewStatus, ours: .integer(0), apple: .integer(1))
        let next = Told.finding(
            .renewalPreference, .autoRenewProductID, ours: .text("a"), apple: .text("b"))
        let changed = "DID_CHANGE_RENEWAL_STATUS"
        #expect(isMatched(off, changed, "AUTO_RENEW_DISABLED"))
        #expect(!isMatched(off, changed, "AUTO_RENEW_ENABLED"))
        #expect(isMatched(on, changed, "AUTO_RENEW_ENABLED"))
        #expect(!isMatched(on, changed, "AUTO_RENEW_DISABLED"))
        #expect(isMatched(next, "DID_CHANGE_RENEWAL_PREF", "DOWNGRADE"))
        #expect(isMatched(next, "DID_CHANGE_RENEWAL_PREF", nil))
        #expect(!isMatched(next, changed, "AUTO_RENEW_DISABLED"))
    }
}
