/// The message that the receiver of an event gets: the event's name and the whole ledger entry.
///
/// Members may be added; existing ones stay.
package struct EventMessage: Hashable, Sendable {
    private let event: BillingEvent
    private let entry: LedgerEntry
    /// The subscription's row as the correction left it; `nil` when there is none.
    private let row: LocalSubscription?
    /// When it was last noticed that the ledger had gone back; `nil` where it never did.
    private let restored: Timestamp?

    package init(
        event: BillingEvent, entry: LedgerEntry, row: LocalSubscription?, restored: Timestamp? = nil
    ) {
        self.event = event
        self.entry = entry
        self.row = row
        self.restored = restored
    }

    private static let restoredDigits = 15
    private static let entryDigits = 19

    /// Greater, as text, in every later event of the database.
    ///
    /// The number of the ledger entry alone is not: after a restore the numbers of the lost entries
    /// are given again. So the moment at which that was noticed comes first.
    private var order: String {
        let milliseconds = max(0, restored?.unixMilliseconds ?? 0)
        return Self.padded(milliseconds, to: Self.restoredDigits) + "-"
            + Self.padded(entry.number, to: Self.entryDigits)
    }

    private static func padded(_ number: Int64, to digits: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits &- text.utf8.count)) + text
    }

    /// The ledger entry's hash: no two corrections share it, and it never changes.
    package var idempotencyKey: String { entry.hash }

    package var json: CanonicalJSON { .object(members) }

    /// Says so when the customer keeps access by another subscription: a receiver that ends the
    /// service because of this event alone would lock out somebody who still pays.
    private var members: [String: CanonicalJSON] {
        guard let other = entry.accessContinuesBy else { return requiredMembers }
        return requiredMembers.merging([
            "access_continues": .boolean(true), "access_continues_by": .string(other),
        ]) { $1 }
    }

    private var requiredMembers: [String: CanonicalJSON] {
        [
            "event": .string(event.rawValue),
            "idempotency_key": .string(idempotencyKey),
            "occurred": .time(entry.writtenAt),
            "apple_signed_date": .time(entry.appleSignedDate),
            "app": .string(entry.subscription.bundleID),
            "environment": .string(entry.subscription.environment),
            "original_transaction_id": .string(entry.subscription.originalTransactionID),
            "transaction_id": .text(entry.transactionID),
            "customer_id": .text(row?.customerID),
            "product_id": .text(row?.productID),
            "table": .string(entry.table),
            "before": .object(entry.changes.before.mapValues(\.json)),
            "after": .object(entry.changes.after.mapValues(\.json)),
            "subscription": row.map(Self.state) ?? .null,
            "kinds": .array(entry.kinds.map { .string($0.rawValue) }),
            "reason": .string(entry.reason),
            "evidence": .string(entry.evidence.hexadecimal),
            "evidence_renewal": .text(entry.evidenceRenewal?.hexadecimal),
            "ledger_entry": .integer(entry.number),
            "ledger_hash": .string(entry.hash),
            "order": .string(order),
            "run_id": .string(entry.runID),
            "undo_of": entry.undoOf.map(CanonicalJSON.integer) ?? .null,
        ]
    }

    /// The whole row, by column.
    private static func state(_ row: LocalSubscription) -> CanonicalJSON {
        .object(
            Dictionary(
                uniqueKeysWithValues: SubscriptionField.allCases.map { field in
                    (field.rawValue, row.value(of: field).json)
                }))
    }
}

/// What a correction means to billing.
///
/// Other software reads the names: existing ones stay, new ones may be added.
package enum BillingEvent: String, Hashable, Sendable, CaseIterable {
    /// A subscription that was missing from the table and gives access.
    case initialPurchase = "initial_purchase"
    /// The subscription renewed, or was bought again: access goes on.
    case renewal
    /// Auto-renewal was turned off; access lasts until the end of the period.
    case cancellation
    /// Auto-renewal was turned on again.
    case uncancellation
    /// Apple could not collect the money: billing retry or grace period.
    case billingIssue = "billing_issue"
    /// The subscription expired.
    case expiration
    /// Another product, now or from the next period on.
    case productChange = "product_change"
    /// Apple refunded the purchase, or family sharing ended.
    case refund
    case refundReversed = "refund_reversed"
    /// Another owner than stored: family shared instead of purchased, or another customer.
    case transfer
    /// Any other correction.
    case correction
    /// A row or period got its first values; no event was missed.
    case firstFill = "first_fill"

    /// The events that are delivered unless the settings say otherwise: all but first fills, which
    /// a backfill makes of every row and which are no news.
    package static let toldByDefault = Set(allCases).subtracting([.firstFill])
}
