/// What the receiver of an event gets: the event's name, and all that the ledger says of it.
///
/// Members may be added; existing ones stay.
package struct EventMessage: Hashable, Sendable {
    private let event: BillingEvent
    private let entry: LedgerEntry
    /// The subscription's row as the correction left it; `nil` when there is none.
    private let row: LocalSubscription?

    package init(event: BillingEvent, entry: LedgerEntry, row: LocalSubscription?) {
        self.event = event
        self.entry = entry
        self.row = row
    }

    /// The ledger entry's hash: no two corrections share it, and it never changes.
    package var idempotencyKey: String { entry.hash }

    package var json: CanonicalJSON { .object(members) }

    /// Whoever ends a customer's service on the word of the event alone would lock out one who goes
    /// on paying under another id: then it says so.
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
            "before": .object(entry.changes.mapValues(\.before.json)),
            "after": .object(entry.changes.mapValues(\.after.json)),
            "subscription": row.map(Self.state) ?? .null,
            "kinds": .array(entry.kinds.map { .string($0.rawValue) }),
            "reason": .string(entry.reason),
            "evidence": .string(entry.evidence.hexadecimal),
            "evidence_renewal": .text(entry.evidenceRenewal?.hexadecimal),
            "ledger_entry": .integer(entry.number),
            "ledger_hash": .string(entry.hash),
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
