extension LedgerEntry {
    /// The message that the receiver of an event gets: the event's name and the whole ledger entry.
    ///
    /// Members may be added; existing ones stay. It says so when the customer keeps access by another
    /// subscription: a receiver that ends the service because of this event alone would lock out a customer
    /// who still pays. Not where the other subscription grants only a part of what ends, or is of another
    /// app: in this one, access ends.
    ///
    /// - Parameters:
    ///   - event: The event's name.
    ///   - row: The subscription's row as the correction left it; `nil` when there is none.
    ///   - purchase: The one-time purchase as the correction left it; `nil` when the entry is about none.
    ///   - access: The change of what the customer may use.
    ///   - restored: When it was last noticed that the ledger had gone back; `nil` where it never did.
    /// - Returns: One object.
    package func message(
        of event: BillingEvent, row: LocalSubscription?, purchase: LocalTransaction?,
        access: AccessChange, restored: Timestamp?
    ) -> CanonicalJSON {
        let names = customerAndProduct(row: row, purchase: purchase)
        var members: [String: CanonicalJSON] = [
            "event": .string(event.rawValue),
            "idempotency_key": .string(idempotencyKey),
            "occurred": .time(writtenAt),
            "apple_signed_date": .time(appleSignedDate),
            "app": .string(subscription.bundleID),
            "environment": .string(subscription.environment),
            "original_transaction_id": .string(subscription.originalTransactionID),
            "transaction_id": .text(transactionID),
            "customer_id": names.customerID.json,
            "product_id": names.productID.json,
            "table": .string(table),
            "before": .object(changes.before.mapValues(\.json)),
            "after": .object(changes.after.mapValues(\.json)),
            "subscription": row?.state ?? .null,
            "kinds": .names(kinds.map(\.rawValue)),
            "reason": .string(reason),
            "entitlement_ids": .names(access.entitlements),
            "access_gained": .names(access.gained),
            "access_extended": .names(access.extended),
            "access_lost": .names(access.lost),
            "evidence": .string(evidence.hexadecimal),
            "evidence_renewal": .text(evidenceRenewal?.hexadecimal),
            "ledger_entry": .integer(number),
            "ledger_hash": .string(hash),
            "order": .string(order(restored: restored)),
            "run_id": .string(runID),
            "undo_of": undoOf.map(CanonicalJSON.integer) ?? .null,
        ]
        if let accessContinuesBy, !access.endsByCatalogue,
            !SubscriptionKey.isOfAnotherApp(accessContinuesBy)
        {
            members["access_continues"] = .boolean(true)
            members["access_continues_by"] = .string(accessContinuesBy)
        }
        return .object(members)
    }

    /// The customer and the product of the row or purchase as the correction left it; as they were before
    /// it where it deleted them.
    package func customerAndProduct(
        row: LocalSubscription?, purchase: LocalTransaction?
    ) -> (customerID: FieldValue, productID: FieldValue) {
        if row == nil, purchase == nil {
            let before = changes.before
            return (before["customer_id"] ?? .null, before["product_id"] ?? .null)
        }
        func value(_ text: String?) -> FieldValue { text.map(FieldValue.text) ?? .null }
        return (
            value(row?.customerID ?? purchase?.customerID),
            value(row?.productID ?? purchase?.productID)
        )
    }

    /// A key that is equal in every attempt to deliver the event: no two corrections share the hash, and it
    /// never changes.
    package var idempotencyKey: String { hash }

    /// Greater, as text, in every later event of the database.
    ///
    /// The number of the ledger entry alone is not: after a restore the numbers of the lost entries
    /// are given again. So the moment at which that was noticed comes first.
    private func order(restored: Timestamp?) -> String {
        let milliseconds = max(0, restored?.unixMilliseconds ?? 0)
        return Self.padded(milliseconds, to: 15) + "-" + Self.padded(number, to: 19)
    }

    private static func padded(_ number: Int64, to digits: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits &- text.utf8.count)) + text
    }
}

extension LocalSubscription {
    /// The whole row, by column.
    fileprivate var state: CanonicalJSON {
        .object(
            SubscriptionField.allCases.reduce(into: [:]) { $0[$1.rawValue] = value(of: $1).json })
    }
}

extension CanonicalJSON {
    fileprivate static func names(_ names: [String]) -> CanonicalJSON {
        .array(names.map(CanonicalJSON.string))
    }
}

/// A change of what a customer may use, over everything that they hold in the app.
///
/// By the stored entitlements before and after it, so that each change is told once, with the correction
/// that made it, however many rows grant the same.
package struct AccessChange: Hashable, Sendable {
    /// The entitlements that the product of the row or purchase grants.
    package var entitlements: [String] = []
    /// Those that the customer could not use before, and can now.
    package var gained: [String] = []
    /// Those that the customer could use before, and longer now.
    package var extended: [String] = []
    /// Those that the customer could use before, and can no longer.
    package var lost: [String] = []
    /// Whether the company says what its products grant; otherwise each product is an entitlement.
    package var isByCatalogue = false

    package init() {}

    /// Whether the customer loses something that the company lists.
    var endsByCatalogue: Bool { isByCatalogue && !lost.isEmpty }

    /// Notes that an entitlement's end changed; `nil` is for life.
    package mutating func note(
        _ entitlement: String, from before: Timestamp??, to after: Timestamp??, at now: Timestamp
    ) {
        let (was, isOpen) = (Self.isOpen(before, at: now), Self.isOpen(after, at: now))
        switch (was, isOpen) {
        case (false, true): gained.append(entitlement)
        case (true, false): lost.append(entitlement)
        case (true, true):
            if Self.end(after) > Self.end(before) { extended.append(entitlement) }
        case (false, false): break
        }
    }

    private static func isOpen(_ end: Timestamp??, at now: Timestamp) -> Bool {
        end.map { $0.map { $0 > now } ?? true } ?? false
    }

    private static func end(_ end: Timestamp??) -> Int64 {
        end.map { $0?.unixMilliseconds ?? .max } ?? .min
    }
}

/// The meaning of a correction for billing.
///
/// Other software reads the names: existing ones stay, new ones may be added.
package enum BillingEvent: String, Hashable, Sendable, CaseIterable {
    /// A subscription that was missing from the table and gives access.
    case initialPurchase = "initial_purchase"
    /// The subscription renewed, or was bought again: access continues.
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
    /// a backfill makes of every row and which are not news.
    package static let deliveredByDefault = Set(allCases).subtracting([.firstFill])
}

/// How corrections are named to billing: a table, read from the top; the first line that fits names
/// the event.
///
/// The table is fixed before a run writes, and passed to the store as a value. A name cannot be
/// fixed: it depends on the row after the write. A correction carries only the columns that it
/// changes, and the status that a later expiry is checked by may be none of them; triggers of the
/// company's may change more in the same write; and a plan made by an earlier version knows of no
/// names. The store reads the row inside the transaction and looks it up here.
package struct EventNaming: Hashable, Sendable {
    /// One line of the table: all conditions must hold.
    package struct Line: Hashable, Sendable {
        package var event: BillingEvent
        package var conditions: [Condition]

        package init(_ event: BillingEvent, when conditions: Condition...) {
            self.event = event
            self.conditions = conditions
        }
    }

    /// A condition on a correction and on the row that it leaves.
    package enum Condition: Hashable, Sendable {
        /// No finding was corrected and nothing was reverted: only unknown values were filled in.
        case fillsIn
        /// It was about a period, or the row is gone.
        case leavesNoSubscription
        /// A refund of a stored one-time purchase was written, or its reversal.
        case refundsPurchase(Bool)
        /// The row was not there before.
        case inserts
        case changes(SubscriptionField)
        /// One known value took the place of another.
        case replaces(SubscriptionField)
        /// Another time, and a later one.
        case movesLater(SubscriptionField)
        /// The column held this before.
        case held(SubscriptionField, FieldValue)
        /// The column holds one of these now.
        case holds(SubscriptionField, [FieldValue])
        /// The column holds a number now, whichever.
        case holdsNumber(SubscriptionField)
    }

    private let lines: [Line]
    /// No event is sent for other names.
    private let delivered: Set<BillingEvent>

    /// - Parameters:
    ///   - lines: the table, from the top.
    ///   - delivered: the events that are sent.
    package init(_ lines: [Line], delivered: Set<BillingEvent>) {
        self.lines = lines
        self.delivered = delivered
    }

    /// Names a correction.
    ///
    /// - Parameters:
    ///   - entry: what was written.
    ///   - row: the subscription's row as it is afterwards; `nil` when there is none.
    /// - Returns: The event; `nil` when none is sent.
    package func event(of entry: LedgerEntry, leaving row: LocalSubscription?) -> BillingEvent? {
        let correction = WrittenCorrection(entry: entry, row: row)
        let line = lines.first { $0.conditions.allSatisfy(correction.fulfils) }
        guard let event = line?.event, delivered.contains(event) else { return nil }
        return event
    }
}

/// Both sides of a correction: what was in the row before, and what is there now.
private struct WrittenCorrection {
    let entry: LedgerEntry
    let row: LocalSubscription?

    func fulfils(_ condition: EventNaming.Condition) -> Bool {
        switch condition {
        case .fillsIn: entry.kinds.isEmpty && entry.undoOf == nil
        case .leavesNoSubscription: entry.changes.table != .subscriptions || row == nil
        case .refundsPurchase(let isRefunded): refundsPurchase(isRefunded)
        case .inserts: change(of: .originalTransactionID) != nil
        case .changes(let field): change(of: field) != nil
        case .replaces(let field):
            change(of: field).map { !$0.before.isEmpty && !$0.after.isEmpty } ?? false
        case .movesLater(let field): movesLater(field)
        case .held(let field, let value): before(field) == value
        case .holds(let field, let values): values.contains(after(field))
        case .holdsNumber(let field): if case .integer = after(field) { true } else { false }
        }
    }

    private func refundsPurchase(_ isRefunded: Bool) -> Bool {
        guard case .purchase(let changes) = entry.changes, entry.rowAction == .update,
            let change = changes[.revocationDate]
        else { return false }
        return change.before.isEmpty == isRefunded && change.after.isEmpty != isRefunded
    }

    private func movesLater(_ field: SubscriptionField) -> Bool {
        guard case .time(let old) = before(field), case .time(let new) = after(field) else {
            return false
        }
        return new > old
    }

    private func change(of field: SubscriptionField) -> FieldChange? {
        entry.changes.ofSubscription[field]
    }

    private func before(_ field: SubscriptionField) -> FieldValue {
        change(of: field)?.before ?? after(field)
    }

    private func after(_ field: SubscriptionField) -> FieldValue {
        row?.value(of: field) ?? .null
    }
}

/// One event that waits for delivery.
package struct OutboxEvent: Hashable, Sendable {
    /// The ledger entry that it reports; also its place in the order of events.
    package var ledgerEntry: Int64
    /// A key that is equal in every attempt, so that the receiver can recognise a repeated event.
    package var idempotencyKey: String
    /// A name of `BillingEvent`.
    package var event: String
    package var subscription: SubscriptionKey
    /// The message, byte for byte the same in every attempt.
    package var body: String
    /// Failed attempts so far.
    package var attempts: Int

    /// How far ahead a next attempt may lie: more than the longest wait, which is 80 minutes.
    ///
    /// One that lies further ahead was noted under a wrong clock, so the event is due.
    package static let farthestAttemptMilliseconds: Int64 = 2 * 60 * 60_000

    package init(
        ledgerEntry: Int64, idempotencyKey: String, event: String, subscription: SubscriptionKey,
        body: String, attempts: Int
    ) {
        self.ledgerEntry = ledgerEntry
        self.idempotencyKey = idempotencyKey
        self.event = event
        self.subscription = subscription
        self.body = body
        self.attempts = attempts
    }
}

/// The result of one delivery attempt, as it is stored.
package enum DeliveryOutcome: Hashable, Sendable {
    case delivered
    /// Not delivered, and why; tried again from `nextAttempt` on, or never when that is `nil`.
    case failed(String, nextAttempt: Timestamp?)
}

/// The number of events in each state of the outbox.
package struct OutboxTotals: Hashable, Sendable {
    package var delivered = 0
    package var waiting = 0
    /// Attempted as often as the schedule allows, without success; kept.
    package var givenUp = 0
    /// Not told before their message was erased; nothing can tell them any more.
    package var erased = 0
    /// When the next event is due that no older one of its subscription defers.
    package var nextAttempt: Timestamp?
    /// The reason why the latest attempt failed; `nil` when nothing waits and nothing was given up.
    package var lastError: String?

    package init() {}

    package var isEmpty: Bool { delivered + waiting + givenUp + erased == 0 }
}
