import Reconciliation
import Subscriptions
import Testing

@Suite struct `The name of a correction` {
    private static let key = SubscriptionKey(app: Sample.app, originalTransactionID: Sample.id)

    /// An update that leaves Apple's statement behind; `before` says what stood there.
    private static func update(
        to status: SubscriptionStatus = .active, kinds: [FindingKind] = [.status],
        from before: (inout LocalSubscription) -> Void
    ) -> (entry: LedgerEntry, row: LocalSubscription) {
        let after = Sample.row(of: Sample.stated(Sample.id, status))
        var old = after
        before(&old)
        var changes: [SubscriptionField: FieldChange] = [:]
        for field in SubscriptionField.allCases where old.value(of: field) != after.value(of: field)
        {
            changes[field] = FieldChange(
                before: old.value(of: field), after: after.value(of: field))
        }
        return (entry(.update(key, expectedRowVersion: 3), .subscription(changes), kinds), after)
    }

    private static func entry(
        _ target: PlannedCorrection.Target, _ changes: ChangeSet,
        _ kinds: [FindingKind]
    ) -> LedgerEntry {
        LedgerEntry(
            number: 1, previousHash: LedgerEntry.firstPreviousHash, runID: "run",
            correction: PlannedCorrection(
                target: target, changes: changes, kinds: kinds,
                evidence: Sample.payload("t").digest, evidenceRenewal: nil,
                appleSignedDate: Sample.now, reason: "Because."),
            writtenAt: Sample.now, actor: "ops@host")
    }

    private static func name(
        to status: SubscriptionStatus = .active, kinds: [FindingKind] = [.status],
        from before: (inout LocalSubscription) -> Void
    ) -> BillingEvent? {
        let (entry, row) = update(to: status, kinds: kinds, from: before)
        return event(of: entry, leaving: row)
    }

    private static func event(
        of entry: LedgerEntry, leaving row: LocalSubscription?
    ) -> BillingEvent? {
        EventNaming(of: Set(BillingEvent.allCases)).event(of: entry, leaving: row)
    }

    private static func insertion(_ status: SubscriptionStatus) -> BillingEvent? {
        let row = Sample.row(of: Sample.stated(Sample.id, status))
        var changes: [SubscriptionField: FieldChange] = [:]
        for field in SubscriptionField.allCases {
            changes[field] = FieldChange(before: .null, after: row.value(of: field))
        }
        return event(
            of: entry(.insert(key), .subscription(changes), [.missingLocally]), leaving: row)
    }

    @Test func `follows the refund of a one-time purchase, and its reversal`() {
        let purchase = TransactionKey(
            bundleID: Self.key.bundleID, environment: Self.key.environment,
            transactionID: Sample.id)
        let refund = FieldChange(before: .null, after: .time(Sample.now))
        func event(
            _ changes: [TransactionField: FieldChange], _ action: RowAction = .update
        ) -> BillingEvent? {
            var entry = Self.entry(
                .updatePeriod(purchase, of: Self.key), .purchase(changes), [.purchaseRefundMissed])
            entry.action = action
            return Self.event(of: entry, leaving: nil)
        }
        #expect(event([.revocationDate: refund]) == .refund)
        #expect(event([.revocationDate: refund.inverse]) == .refundReversed)
        #expect(
            event([
                .revocationPercentage: FieldChange(before: .integer(1), after: .integer(2))
            ]) == .correction)
        #expect(event([.revocationDate: refund], .insert) == .correction)
    }

    @Test(arguments: [
        (1, 2, BillingEvent.expiration), (4, 2, .expiration), (3, 2, .expiration),
        (1, 3, .billingIssue), (1, 4, .billingIssue), (2, 4, .billingIssue), (2, 3, .billingIssue),
        (2, 1, .renewal), (3, 1, .renewal), (4, 1, .renewal),
        (1, 5, .refund), (2, 5, .refund), (4, 5, .refund),
        (5, 1, .refundReversed), (5, 4, .refundReversed), (5, 2, .refundReversed),
    ])
    func `follows the status that it became`(before: Int, after: Int, event: BillingEvent) {
        #expect(Self.name(to: SubscriptionStatus(rawValue: after)) { $0.status = before } == event)
    }

    @Test func `is a renewal when an entitling period ends later, else a correction`() {
        let earlier: (inout LocalSubscription) -> Void = { $0.expiresDate = Sample.now(days: -400) }
        #expect(Self.name(kinds: [.expiry], from: earlier) == .renewal)
        #expect(Self.name(to: .expired, kinds: [.expiry], from: earlier) == .correction)
        #expect(
            Self.name(kinds: [.expiry]) { $0.expiresDate = Sample.now(days: 400) } == .correction)
    }

    @Test func `is a billing issue when the end of the grace period moved`() {
        let event = Self.name(to: .billingGracePeriod, kinds: [.graceMissed]) {
            $0.gracePeriodExpiresDate = nil
        }
        #expect(event == .billingIssue)
    }

    @Test func `tells of auto-renewal, the next product, the product and the owner`() {
        #expect(Self.name(to: .active) { $0.autoRenewStatus = 0 } == .uncancellation)
        #expect(Self.name(to: .expired) { $0.autoRenewStatus = 1 } == .cancellation)
        #expect(Self.name { $0.autoRenewProductID = "silver" } == .productChange)
        #expect(Self.name { $0.productID = "silver" } == .productChange)
        #expect(Self.name { $0.inAppOwnershipType = "FAMILY_SHARED" } == .transfer)
        #expect(Self.name { $0.inAppOwnershipType = nil } == .correction)
        #expect(Self.name { $0.latestTransactionID = "7" } == .correction)
    }

    @Test func `is the one that matters most where there are several`() {
        let everything: (inout LocalSubscription) -> Void = { row in
            row.expiresDate = Sample.now(days: -400)
            row.productID = "silver"
            row.autoRenewProductID = "silver"
            row.autoRenewStatus = 7
            row.inAppOwnershipType = "FAMILY_SHARED"
        }
        func name(
            _ status: SubscriptionStatus, _ before: (inout LocalSubscription) -> Void
        ) -> BillingEvent? {
            Self.name(to: status) { row in
                everything(&row)
                before(&row)
            }
        }
        #expect(name(.revoked) { $0.status = 1 } == .refund)
        #expect(name(.active) { $0.status = 5 } == .refundReversed)
        #expect(name(.expired) { $0.status = 1 } == .expiration)
        #expect(name(.billingRetry) { $0.status = 1 } == .billingIssue)
        #expect(name(.active) { $0.status = 2 } == .renewal)
        #expect(name(.active) { _ in } == .productChange)
        #expect(name(.active) { $0.productID = "gold.monthly" } == .renewal)
    }

    @Test func `is a purchase for a new row that entitles, and no event of its own for others`() {
        #expect(Self.insertion(.active) == .initialPurchase)
        #expect(Self.insertion(.billingGracePeriod) == .initialPurchase)
        for status in [SubscriptionStatus.expired, .billingRetry, .revoked] {
            #expect(Self.insertion(status) == .correction)
        }
    }

    @Test func `is a first fill when nothing is fixed, unless it ends something`() {
        var (entry, row) = Self.update(kinds: []) { $0.status = nil }
        #expect(Self.event(of: entry, leaving: row) == .firstFill)
        // Its undo has an event, although the fill had none that is delivered.
        entry.undoOf = 7
        #expect(Self.event(of: entry, leaving: row) != .firstFill)
        (entry, row) = Self.update(to: .expired, kinds: []) { $0.status = 1 }
        entry.undoOf = 7
        #expect(Self.event(of: entry, leaving: row) == .expiration)
    }

    @Test func `is a correction for a period, and for a row that is gone`() {
        let period = TransactionKey(
            bundleID: Sample.app.bundleID, environment: "Production", transactionID: "9")
        let changes = ChangeSet.period([.price: FieldChange(before: .null, after: .integer(990))])
        let inserted = Self.entry(
            .insertPeriod(period, of: Self.key), changes, [.transactionMissing])
        #expect(Self.event(of: inserted, leaving: Sample.row()) == .correction)
        let (entry, _) = Self.update { $0.status = 2 }
        #expect(Self.event(of: entry, leaving: nil) == .correction)
        // What is filled in of a period tells nobody of access, nor does taking it back.
        var filled = Self.entry(
            .updatePeriod(period, of: Self.key),
            .period([.revocationDate: FieldChange(before: .null, after: .time(Sample.now))]), [])
        #expect(Self.event(of: filled, leaving: Sample.row()) == .firstFill)
        filled.undoOf = 7
        #expect(Self.event(of: filled, leaving: Sample.row()) == .correction)
    }

    @Test func `is kept to the events that anybody is to hear of`() {
        let (entry, row) = Self.update(to: .revoked) { $0.status = 1 }
        #expect(EventNaming(of: [.refund]).event(of: entry, leaving: row) == .refund)
        // Not told under the name of a line further down.
        #expect(
            EventNaming(of: [.expiration, .correction]).event(of: entry, leaving: row)
                == nil)
    }

    /// The row decides, not the correction: a trigger of the company's may have written to it since.
    @Test func `follows the row as it stands where it is not what was written`() {
        var (entry, row) = Self.update(to: .expired) { $0.status = 1 }
        row.status = 5
        #expect(Self.event(of: entry, leaving: row) == .refund)
        // A status that became unreadable or unknown names nothing.
        row.status = nil
        row.unreadable[.status] = "five"
        #expect(Self.event(of: entry, leaving: row) == .correction)
        row.unreadable = [:]
        row.status = 9
        #expect(Self.event(of: entry, leaving: row) == .correction)
        // Of a status that the correction does not change, only the row says what it is.
        (entry, row) = Self.update(kinds: [.expiry]) { $0.expiresDate = Sample.now(days: -400) }
        #expect(Self.event(of: entry, leaving: row) == .renewal)
        row.status = 2
        #expect(Self.event(of: entry, leaving: row) == .correction)
    }

    @Test func `keeps the names that other software reads`() {
        #expect(
            Set(BillingEvent.allCases.map(\.rawValue)) == [
                "initial_purchase", "renewal", "cancellation", "uncancellation", "billing_issue",
                "expiration", "product_change", "refund", "refund_reversed", "transfer",
                "correction", "first_fill",
            ])
    }
}
