import GRDB
import Subscriptions

extension OutboxTotals {
    /// Counts the outbox as it stands.
    init(_ db: Database) throws {
        self.init()
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT count(told_at), count(given_up_at), count(*),
                    min(CASE WHEN told_at IS NULL AND given_up_at IS NULL
                        THEN next_attempt_at END)
                FROM trueup_outbox
                """)
        guard let row else { return }
        told = row.number(at: 0) ?? 0
        givenUp = row.number(at: 1) ?? 0
        waiting = (row.number(at: 2) ?? 0) - told - givenUp
        nextAttempt = row.time(at: 3)
        lastError = try String.fetchOne(
            db,
            sql: """
                SELECT last_error FROM trueup_outbox
                WHERE told_at IS NULL AND last_error IS NOT NULL
                ORDER BY last_attempt_at DESC, ledger_entry DESC LIMIT 1
                """)
    }
}
