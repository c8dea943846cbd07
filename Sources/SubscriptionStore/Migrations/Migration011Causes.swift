extension Migration {
    /// Why findings came about, and what Apple recorded of its notifications while a pass lasts.
    ///
    /// `trueup_pass_deliveries.attempts` has a line for each attempt: UNIX milliseconds, a blank and
    /// Apple's result. `trueup_run_causes.facts` is JSON, so that a report can be rendered again.
    static let causes = Migration(
        number: 11,
        sql: """
            ALTER TABLE trueup_pass_findings ADD COLUMN changed_at INTEGER;

            CREATE TABLE trueup_pass_deliveries (
                pass_id INTEGER NOT NULL,
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                signed_date INTEGER NOT NULL,
                notification_uuid TEXT NOT NULL,
                notification_type TEXT NOT NULL,
                subtype TEXT,
                attempts TEXT NOT NULL,
                received_at INTEGER,
                is_reported INTEGER NOT NULL,
                PRIMARY KEY (pass_id, bundle_id, environment, original_transaction_id,
                    signed_date, notification_uuid)
            ) WITHOUT ROWID;

            CREATE TABLE trueup_pass_history (
                pass_id INTEGER NOT NULL,
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                read_from INTEGER NOT NULL,
                read_through INTEGER NOT NULL,
                PRIMARY KEY (pass_id, bundle_id, environment)
            ) WITHOUT ROWID;

            CREATE TABLE trueup_run_finding_causes (
                run_seq INTEGER NOT NULL,
                finding_seq INTEGER NOT NULL,
                cause TEXT NOT NULL,
                PRIMARY KEY (run_seq, finding_seq)
            ) WITHOUT ROWID;

            CREATE TABLE trueup_run_causes (
                run_seq INTEGER NOT NULL,
                position INTEGER NOT NULL,
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                cause TEXT NOT NULL,
                facts TEXT NOT NULL,
                PRIMARY KEY (run_seq, position)
            ) WITHOUT ROWID;
            """)
}
