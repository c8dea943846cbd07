extension Migration {
    /// The runs and what each reported: enough to render its report again, byte for byte.
    static let runs = Migration(
        number: 3,
        sql: """
            CREATE TABLE trueup_runs (
                run_seq INTEGER PRIMARY KEY AUTOINCREMENT,
                run_id TEXT NOT NULL UNIQUE,
                pass_id INTEGER NOT NULL,
                resumed_from TEXT,
                job TEXT NOT NULL,
                mode TEXT NOT NULL,
                started INTEGER NOT NULL,
                apps TEXT NOT NULL,
                actor TEXT NOT NULL,
                tool_version TEXT NOT NULL,
                settings_digest TEXT NOT NULL,
                narrowing TEXT NOT NULL,
                covers_every_row INTEGER NOT NULL,
                not_found_confirmations INTEGER NOT NULL,
                ended INTEGER,
                exit_status TEXT,
                statuses TEXT,
                messages TEXT,
                limits TEXT,
                closes_pass INTEGER,
                ledger_head TEXT
            );
            CREATE INDEX trueup_runs_by_pass ON trueup_runs (pass_id);

            CREATE TABLE trueup_run_totals (
                run_seq INTEGER NOT NULL,
                verdict INTEGER NOT NULL,
                reason TEXT NOT NULL DEFAULT '',
                rows INTEGER NOT NULL,
                PRIMARY KEY (run_seq, verdict, reason)
            ) WITHOUT ROWID;

            CREATE TABLE trueup_run_calls (
                run_seq INTEGER NOT NULL,
                position INTEGER NOT NULL,
                endpoint TEXT NOT NULL,
                result TEXT NOT NULL,
                calls INTEGER NOT NULL,
                PRIMARY KEY (run_seq, position)
            ) WITHOUT ROWID;

            CREATE TABLE trueup_run_undecided (
                run_seq INTEGER NOT NULL,
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                customer_id TEXT,
                reason TEXT NOT NULL,
                PRIMARY KEY (run_seq, bundle_id, environment, original_transaction_id)
            ) WITHOUT ROWID;

            CREATE TABLE trueup_run_not_found (
                run_seq INTEGER NOT NULL,
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                customer_id TEXT,
                first_day TEXT NOT NULL,
                last_day TEXT NOT NULL,
                distinct_days INTEGER NOT NULL,
                status INTEGER,
                last_good_as_of INTEGER,
                last_good_evidence TEXT,
                PRIMARY KEY (run_seq, bundle_id, environment, original_transaction_id)
            ) WITHOUT ROWID;

            CREATE TABLE trueup_run_findings (
                run_seq INTEGER NOT NULL,
                finding_seq INTEGER NOT NULL,
                state TEXT NOT NULL,
                action TEXT NOT NULL,
                first_seen INTEGER NOT NULL,
                PRIMARY KEY (run_seq, finding_seq)
            ) WITHOUT ROWID;

            CREATE TABLE trueup_findings (
                finding_id TEXT PRIMARY KEY,
                kind TEXT NOT NULL,
                severity TEXT NOT NULL,
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                original_transaction_id TEXT,
                first_seen INTEGER NOT NULL,
                last_seen INTEGER NOT NULL,
                last_pass_id INTEGER NOT NULL,
                corrected_by INTEGER,
                state TEXT NOT NULL
            ) WITHOUT ROWID;
            CREATE INDEX trueup_findings_open ON trueup_findings (kind, severity, state)
                WHERE state IN ('new', 'open', 'recurring');
            """)
}
