import Subscriptions
import Testing

@Suite struct `The kinds of findings` {
    @Test func `has the contract's kinds in its order`() {
        #expect(
            FindingKind.allCases.map(\.rawValue) == [
                "missing_locally", "not_found", "account_not_found", "invalid_id", "migrated",
                "wrong_environment", "wrong_app", "duplicate_local", "refund_reversal_missed",
                "grace_missed", "revocation_missed", "access_missing", "access_unpaid", "status",
                "expiry", "product", "renewal_preference", "revocation_date",
                "latest_transaction", "ownership", "seats", "identity", "price",
                "transaction_missing",
                "transaction_unknown", "purchase_missing", "purchase_refund_missed",
                "purchase_unknown",
                "notification_missed", "notification_lost",
                "overlapping_subscriptions", "resurrected", "verification_failed",
                "contradiction", "unknown_value", "unknown_product",
                "unreadable_value",
                "seat_member",
            ])
    }

    @Test func `orders severities`() {
        #expect(Severity.allCases.sorted() == [.info, .low, .medium, .high, .critical])
    }

    @Test func `has the contract's undecided reasons`() {
        #expect(
            Set(UndecidedReason.allCases.map(\.rawValue)) == [
                "in_flight", "rate_limited", "unavailable", "undecodable", "verification_failed",
                "contradiction", "id_not_in_answer", "no_subscription_in_answer",
                "newer_locally", "changed_during_run", "unknown_status", "unreadable_value",
                "period_not_shown", "deadline",
            ])
    }

    @Test func `ties out`() {
        var totals = RunTotals()
        totals.matched = 5
        totals.discrepant = 3
        totals.undecided = [.deadline: 2, .rateLimited: 1]
        totals.excluded = [.inFlight: 4]
        #expect(totals.inScope == 15)
    }
}
