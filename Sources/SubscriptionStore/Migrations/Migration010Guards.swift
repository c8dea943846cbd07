extension Migration {
    /// What the guards remember: the table's size over the nights, what was lifted by whom and why,
    /// and which rows of a pass were written ahead as its canary.
    ///
    /// What was lifted stays on record, as what was corrected does.
    static let guards = Migration(
        number: 10,
        sql: """
            CREATE TABLE trueup_table_sizes (
                run_seq INTEGER PRIMARY KEY,
                rows INTEGER NOT NULL
            );

            CREATE TABLE trueup_guard_lifts (
                run_seq INTEGER NOT NULL,
                guard TEXT NOT NULL,
                reason TEXT NOT NULL,
                actor TEXT NOT NULL,
                lifted_at INTEGER NOT NULL,
                lifted_by TEXT NOT NULL,
                breach TEXT,
                PRIMARY KEY (run_seq, guard)
            ) WITHOUT ROWID;
            CREATE TRIGGER trueup_guard_lifts_stay BEFORE DELETE ON trueup_guard_lifts
            BEGIN SELECT RAISE(ABORT, 'what was lifted stays on record'); END;
            CREATE TRIGGER trueup_guard_lifts_stand BEFORE UPDATE ON trueup_guard_lifts
            BEGIN SELECT RAISE(ABORT, 'what was lifted stays on record'); END;

            CREATE TABLE trueup_canaries (
                pass_id INTEGER NOT NULL,
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                PRIMARY KEY (pass_id, bundle_id, environment, original_transaction_id)
            ) WITHOUT ROWID;
            """)
}
