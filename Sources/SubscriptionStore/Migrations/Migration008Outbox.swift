extension Migration {
    /// Events that tell others of corrections, each written with its ledger entry.
    ///
    /// The index holds what waits, in the order in which a subscription's events must be told.
    static let outbox = Migration(
        number: 8,
        sql: """
            CREATE TABLE trueup_outbox (
                ledger_entry INTEGER PRIMARY KEY,
                idempotency_key TEXT NOT NULL UNIQUE,
                event TEXT NOT NULL,
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                body TEXT,
                attempts INTEGER NOT NULL DEFAULT 0,
                next_attempt_at INTEGER NOT NULL,
                last_attempt_at INTEGER,
                last_error TEXT,
                told_at INTEGER,
                given_up_at INTEGER
            );
            CREATE INDEX trueup_outbox_waiting ON trueup_outbox (
                bundle_id, environment, original_transaction_id, ledger_entry)
                WHERE told_at IS NULL AND given_up_at IS NULL;
            CREATE INDEX trueup_outbox_order ON trueup_outbox (attempts, ledger_entry)
                WHERE told_at IS NULL AND given_up_at IS NULL;
            CREATE INDEX trueup_outbox_given_up ON trueup_outbox (given_up_at)
                WHERE given_up_at IS NOT NULL;
            """)
}
