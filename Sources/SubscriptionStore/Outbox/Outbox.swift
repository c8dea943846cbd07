import GRDB
import Reconciliation
package import Subscriptions
import Synchronization

/// Puts an event into the outbox, inside the transaction that changes the row and writes the
/// ledger: there is never a correction without its event, nor an event without its correction.
struct OutboxWriter {
    let db: Database
    /// `nil` when no events are sent.
    let naming: EventNaming?
    /// Learns which entitlements were settled, where the company's own table of them is kept.
    var company: CompanyUnit?

    /// The last note about a customer, to be asked before a row is changed; `nil` when no events are
    /// sent.
    func lastNote() throws -> Int64? {
        try naming == nil ? nil : EntitlementBook(db: db, catalogue: nil).lastNote()
    }

    /// Writes the event of an entry that was just appended.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - last: The last note about a customer before the row was changed.
    ///   - catalogue: What each product grants.
    /// - Throws: An error of the database.
    func append(
        _ entry: LedgerEntry, after last: Int64?, by catalogue: ProductCatalogue?
    ) throws {
        guard let naming else { return }
        let row = try LocalSubscription.stored(entry.subscription, db)
        guard let event = naming.event(of: entry, leaving: row) else { return }
        var access = AccessChange()
        access.isByCatalogue = catalogue != nil
        let purchase = try purchase(of: entry)
        let named = entry.customerAndProduct(row: row, purchase: purchase)
        if case .text(let product) = named.productID {
            access.entitlements = catalogue.entitlements(of: product)
        }
        if let last {
            try EntitlementBook(db: db, catalogue: catalogue).settle(after: last, limit: nil) {
                company?.entitlements.insert($0)
                guard $0.bundleID == entry.subscription.bundleID,
                    $0.environment == entry.subscription.environment
                else { return }
                access.note($0.entitlement, from: $1, to: $2, at: entry.writtenAt)
            }
        }
        for list in [\AccessChange.gained, \AccessChange.extended, \AccessChange.lost] {
            access[keyPath: list].sort { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        }
        let message = entry.message(
            of: event, row: row, purchase: purchase, access: access,
            restored: try Ledger(db: db).lastRestore())
        try db.executeCached(
            """
            INSERT INTO trueup_outbox (
                ledger_entry, idempotency_key, event, bundle_id, environment,
                original_transaction_id, body, next_attempt_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [entry.number, entry.idempotencyKey, event.rawValue]
                + entry.subscription.arguments
                + [message.rendered, entry.writtenAt.unixMilliseconds])
    }

    private func purchase(of entry: LedgerEntry) throws -> LocalTransaction? {
        guard case .purchase = entry.changes, let id = entry.transactionID else { return nil }
        return try LocalTransaction.purchase(entry.subscription.transaction(id), db)
    }
}

extension LocalSubscription {
    /// The stored row of a key.
    static func stored(_ key: SubscriptionKey, _ db: Database) throws -> LocalSubscription? {
        let statement = try db.cachedStatement(
            sql: """
                SELECT \(try columns(db)) FROM subscriptions AS s
                WHERE s.bundle_id = ? AND s.environment = ? AND s.original_transaction_id = ?
                """)
        // At the cursor, where bytes that are not text are still seen.
        let rows = try Row.fetchCursor(statement, arguments: key.arguments)
        return try rows.next().map { LocalSubscription($0) }
    }
}

/// The events that wait for delivery, each written with the correction that it reports.
///
/// Every method is one short transaction.
extension SQLiteStore {
    /// Events due for delivery: at most one per subscription, because an undelivered older event of
    /// the same subscription defers newer ones.
    ///
    /// Those that failed least often come first, then the older. One is due as well, whose next
    /// attempt lies more than `OutboxEvent.farthestAttemptMilliseconds` ahead.
    package func dueEvents(
        at now: Timestamp, limit: Int
    ) async throws(StoreError) -> [OutboxEvent] {
        try await read("reading the events to tell") { db in
            let statement = try db.cachedStatement(
                sql: """
                    SELECT o.ledger_entry, o.idempotency_key, o.event, o.bundle_id, o.environment,
                        o.original_transaction_id, o.body, o.attempts
                    FROM trueup_outbox AS o
                    WHERE \(OutboxTotals.isNext)
                        AND (o.next_attempt_at <= ?1 OR o.next_attempt_at > ?2)
                    ORDER BY o.attempts, o.ledger_entry LIMIT ?3
                    """)
            let arguments: StatementArguments = [
                now.unixMilliseconds, now.farthestAttempt.unixMilliseconds, limit,
            ]
            return try Row.fetchAll(statement, arguments: arguments).map { row in
                OutboxEvent(
                    ledgerEntry: row.integer(at: 0) ?? 0, idempotencyKey: row.requiredText(at: 1),
                    event: row.requiredText(at: 2), subscription: SubscriptionKey(row, at: 3),
                    body: row.requiredText(at: 6), attempts: row.number(at: 7) ?? 0)
            }
        }
    }

    /// Records the result of an attempt; the message of a delivered event is deleted.
    package func record(
        _ result: DeliveryOutcome, of event: OutboxEvent, at now: Timestamp
    ) async throws(StoreError) {
        try await write("recording the delivery of the event of entry \(event.ledgerEntry)") { db in
            switch result {
            case .delivered:
                try db.executeCached(
                    """
                    UPDATE trueup_outbox SET told_at = ?, body = NULL, last_error = NULL
                    WHERE ledger_entry = ?
                    """, [now.unixMilliseconds, event.ledgerEntry])
            case .failed(let reason, let nextAttempt):
                try db.executeCached(
                    """
                    UPDATE trueup_outbox SET attempts = ?, last_attempt_at = ?, last_error = ?,
                        next_attempt_at = coalesce(?, next_attempt_at), given_up_at = ?
                    WHERE ledger_entry = ?
                    """,
                    [
                        event.attempts + 1, now.unixMilliseconds, reason,
                        nextAttempt?.unixMilliseconds,
                        nextAttempt == nil ? now.unixMilliseconds : nil, event.ledgerEntry,
                    ])
            }
        }
    }

    /// Makes no event due before that moment, because the receiver does not work; neither one whose
    /// next attempt lies further ahead than any may.
    package func postpone(until moment: Timestamp) async throws(StoreError) {
        // In the order of the index, which the update leaves as it is.
        try await inChunks("postponing the events to tell", from: [-1, -1] as [Int64]) {
            first, db in
            let part = """
                FROM trueup_outbox INDEXED BY trueup_outbox_order
                WHERE told_at IS NULL AND given_up_at IS NULL AND (attempts, ledger_entry) > (?, ?)
                ORDER BY attempts, ledger_entry
                """
            let key = "SELECT attempts, ledger_entry \(part)"
            let last =
                try db.row(
                    cached: "\(key) LIMIT 1 OFFSET \(StoreLimits.rowsPerChunk - 1)",
                    StatementArguments(first)
                )
                .map { [$0.integer(at: 0) ?? 0, $0.integer(at: 1) ?? 0] }
            try db.executeCached(
                """
                UPDATE trueup_outbox SET next_attempt_at = ?
                WHERE (next_attempt_at < ? OR next_attempt_at > ?) AND ledger_entry IN (
                    SELECT ledger_entry \(part) LIMIT \(StoreLimits.rowsPerChunk))
                """,
                [
                    moment.unixMilliseconds, moment.unixMilliseconds,
                    moment.farthestAttempt.unixMilliseconds,
                ] + StatementArguments(first))
            return last
        }
    }

    /// Makes the events that were given up wait again, from the first attempt; says how many.
    ///
    /// One whose message was erased is none of them.
    package func retryGivenUp(at now: Timestamp) async throws(StoreError) -> Int {
        let retried = Mutex(0)
        try await inChunks("returning events that were given up to the queue", from: 0) { _, db in
            try db.executeCached(
                """
                UPDATE trueup_outbox
                SET given_up_at = NULL, attempts = 0, next_attempt_at = ?
                WHERE ledger_entry IN (
                    SELECT ledger_entry FROM trueup_outbox
                    WHERE given_up_at IS NOT NULL AND body IS NOT NULL
                    LIMIT \(StoreLimits.rowsPerChunk))
                """, [now.unixMilliseconds])
            let changed = db.changesCount
            retried.withLock { $0 += changed }
            return changed == StoreLimits.rowsPerChunk ? 0 : nil
        }
        return retried.withLock(\.self)
    }

    /// Counts the outbox; what is due already has its next attempt at `now` at the latest.
    package func outboxTotals(at now: Timestamp) async throws(StoreError) -> OutboxTotals {
        try await read("counting the events to tell") { db in try OutboxTotals(db, at: now) }
    }
}

extension Timestamp {
    /// A next attempt after this was noted under a wrong clock.
    fileprivate var farthestAttempt: Timestamp {
        adding(milliseconds: OutboxEvent.farthestAttemptMilliseconds)
    }
}

extension OutboxTotals {
    /// SQL for whether the event `o` waits, and no older one of its subscription.
    fileprivate static let isNext = """
        o.told_at IS NULL AND o.given_up_at IS NULL
            AND NOT EXISTS (
                SELECT 1 FROM trueup_outbox AS older
                WHERE older.told_at IS NULL AND older.given_up_at IS NULL
                    AND \(SubscriptionKey.agree("older", "o"))
                    AND older.ledger_entry < o.ledger_entry)
        """

    /// Counts the outbox as it is at a moment.
    init(_ db: Database, at now: Timestamp) throws {
        self.init()
        let row = try db.row(
            """
            SELECT count(told_at), count(iif(body IS NULL, NULL, given_up_at)),
                count(iif(body IS NULL, given_up_at, NULL)), count(*)
            FROM trueup_outbox
            """)
        guard let row else { return }
        delivered = row.number(at: 0) ?? 0
        givenUp = row.number(at: 1) ?? 0
        erased = row.number(at: 2) ?? 0
        waiting = (row.number(at: 3) ?? 0) - delivered - givenUp - erased
        nextAttempt = try db.integer(
            """
            SELECT min(iif(o.next_attempt_at > ?2, ?1, o.next_attempt_at))
            FROM trueup_outbox AS o WHERE \(Self.isNext)
            """, [now.unixMilliseconds, now.farthestAttempt.unixMilliseconds]
        ).map(Timestamp.init(unixMilliseconds:))
        lastError = try db.text(
            """
            SELECT last_error FROM trueup_outbox
            WHERE told_at IS NULL AND body IS NOT NULL AND last_error IS NOT NULL
            ORDER BY last_attempt_at DESC, ledger_entry DESC LIMIT 1
            """)
    }
}
