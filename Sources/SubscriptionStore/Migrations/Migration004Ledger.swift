extension Migration {
    /// Written corrections, hash-chained, and the signed payloads that prove them.
    ///
    /// `reported_run` is no part of the hash: it says which run's report showed the entry. Apple's
    /// certificate header is the same in nearly every payload, so it is kept once.
    static let ledger = Migration(
        number: 4,
        sql: """
            CREATE TABLE trueup_ledger (
                entry INTEGER PRIMARY KEY,
                previous_hash TEXT NOT NULL,
                hash TEXT NOT NULL,
                run_id TEXT NOT NULL,
                kinds TEXT NOT NULL,
                target_table TEXT NOT NULL,
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                transaction_id TEXT,
                changes TEXT NOT NULL,
                evidence TEXT NOT NULL,
                evidence_renewal TEXT,
                apple_signed_date INTEGER NOT NULL,
                written_at INTEGER NOT NULL,
                actor TEXT NOT NULL,
                reason TEXT NOT NULL,
                undo_of INTEGER,
                reported_run TEXT
            );
            CREATE INDEX trueup_ledger_by_subscription ON trueup_ledger (
                bundle_id, environment, original_transaction_id, apple_signed_date);
            CREATE INDEX trueup_ledger_by_report ON trueup_ledger (reported_run);
            CREATE TABLE trueup_awaited_reports (run_id TEXT PRIMARY KEY) WITHOUT ROWID;

            CREATE TABLE trueup_evidence_headers (
                header_id INTEGER PRIMARY KEY,
                digest TEXT NOT NULL UNIQUE,
                segment BLOB NOT NULL
            );
            CREATE TABLE trueup_evidence (
                evidence_id INTEGER PRIMARY KEY,
                digest TEXT NOT NULL UNIQUE,
                header_id INTEGER,
                rest BLOB NOT NULL
            );
            """)
}
