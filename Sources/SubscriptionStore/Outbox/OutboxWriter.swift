import GRDB
import Subscriptions

/// Puts an event into the outbox, inside the transaction that changes the row and writes the
/// ledger: there is never a correction without its event, nor an event without its correction.
struct OutboxWriter {
    let db: Database
    /// `nil` when no events are sent.
    let naming: EventNaming?

    /// Writes the event of an entry that was just appended.
    func append(_ entry: LedgerEntry) throws {
        guard let naming else { return }
        let row = try self.row(of: entry.subscription)
        guard let event = naming.event(of: entry, leaving: row) else { return }
        let message = EventMessage(
            event: event, entry: entry, row: row, restored: try lastRestore())
        try db.cachedStatement(
            sql: """
                INSERT INTO trueup_outbox (
                    ledger_entry, idempotency_key, event, bundle_id, environment,
                    original_transaction_id, body, next_attempt_at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(
            arguments: [entry.number, message.idempotencyKey, event.rawValue]
                + entry.subscription.arguments
                + [message.json.rendered, entry.writtenAt.unixMilliseconds])
    }

    /// When it was last noticed that the ledger had gone back.
    private func lastRestore() throws -> Timestamp? {
        let statement = try db.cachedStatement(sql: "SELECT max(noticed_at) FROM trueup_restores")
        return try Int64.fetchOne(statement).map(Timestamp.init(unixMilliseconds:))
    }

    private func row(of key: SubscriptionKey) throws -> LocalSubscription? {
        let statement = try db.cachedStatement(
            sql: """
                SELECT \(LocalSubscription.columns) FROM subscriptions AS s
                WHERE s.bundle_id = ? AND s.environment = ? AND s.original_transaction_id = ?
                """)
        // At the cursor, where bytes that are no text are still seen.
        let rows = try Row.fetchCursor(statement, arguments: key.arguments)
        return try rows.next().map { LocalSubscription($0) }
    }
}
