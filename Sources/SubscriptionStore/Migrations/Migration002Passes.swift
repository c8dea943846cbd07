extension Migration {
    /// What a pass over the population has judged so far; it outlives a killed process.
    ///
    /// `trueup_pass_rows.verdict`: 0 looked at but not in scope, 1 match, 2 discrepancy,
    /// 3 undecided, 4 excluded, 5 inserted by this pass. `superseded_by` and `fate_by` hold the
    /// sequence number of the run that brought the change, so that the record of an earlier run of
    /// the same pass stays as it was.
    static let passes = Migration(
        number: 2,
        sql: """
            CREATE TABLE trueup_passes (
                pass_id INTEGER PRIMARY KEY AUTOINCREMENT,
                job TEXT NOT NULL,
                mode TEXT NOT NULL,
                settings_digest TEXT NOT NULL,
                narrowing TEXT NOT NULL,
                covers_every_row INTEGER NOT NULL,
                began INTEGER NOT NULL,
                state TEXT NOT NULL DEFAULT 'open',
                walked_bundle_id TEXT,
                walked_environment TEXT,
                walked_original_transaction_id TEXT
            );
            CREATE INDEX trueup_passes_by_state ON trueup_passes (state);

            CREATE TABLE trueup_pass_rows (
                pass_id INTEGER NOT NULL,
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                verdict INTEGER NOT NULL,
                reason TEXT,
                is_absent INTEGER NOT NULL DEFAULT 0,
                asks_again INTEGER NOT NULL DEFAULT 0,
                PRIMARY KEY (pass_id, bundle_id, environment, original_transaction_id)
            ) WITHOUT ROWID;
            CREATE INDEX trueup_pass_rows_to_ask_again
                ON trueup_pass_rows (pass_id, bundle_id, environment, original_transaction_id)
                WHERE asks_again = 1;

            CREATE TABLE trueup_pass_corrections (
                correction_id INTEGER PRIMARY KEY AUTOINCREMENT,
                pass_id INTEGER NOT NULL,
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                target TEXT NOT NULL,
                transaction_id TEXT NOT NULL DEFAULT '',
                expected_row_version INTEGER,
                changes TEXT NOT NULL,
                kinds TEXT NOT NULL,
                evidence TEXT NOT NULL,
                evidence_renewal TEXT,
                apple_signed_date INTEGER NOT NULL,
                reason TEXT NOT NULL,
                fate TEXT NOT NULL DEFAULT 'planned',
                fate_by INTEGER,
                staged_by INTEGER NOT NULL,
                superseded_by INTEGER
            );
            CREATE UNIQUE INDEX trueup_pass_corrections_by_target ON trueup_pass_corrections (
                pass_id, bundle_id, environment, original_transaction_id, target, transaction_id)
                WHERE superseded_by IS NULL;
            CREATE INDEX trueup_pass_corrections_by_pass ON trueup_pass_corrections (
                pass_id, bundle_id, environment, original_transaction_id, correction_id);
            CREATE INDEX trueup_pass_corrections_planned ON trueup_pass_corrections (
                pass_id, bundle_id, environment, original_transaction_id, correction_id)
                WHERE fate = 'planned' AND superseded_by IS NULL;

            CREATE TABLE trueup_pass_findings (
                finding_seq INTEGER PRIMARY KEY AUTOINCREMENT,
                pass_id INTEGER NOT NULL,
                finding_id TEXT NOT NULL,
                kind TEXT NOT NULL,
                severity TEXT NOT NULL,
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                key_bundle_id TEXT,
                key_environment TEXT,
                original_transaction_id TEXT,
                outcome_bundle_id TEXT,
                outcome_environment TEXT,
                outcome_original_transaction_id TEXT,
                transaction_id TEXT,
                customer_id TEXT,
                product_id TEXT,
                field TEXT,
                local_value TEXT NOT NULL,
                apple_value TEXT NOT NULL,
                local_as_of INTEGER,
                apple_as_of INTEGER,
                direction TEXT NOT NULL,
                amount INTEGER,
                currency TEXT,
                cause TEXT,
                evidence TEXT,
                action TEXT NOT NULL,
                correction_id INTEGER,
                superseded_by INTEGER
            );
            CREATE UNIQUE INDEX trueup_pass_findings_by_id ON trueup_pass_findings (
                pass_id, finding_id, ifnull(transaction_id, '')) WHERE superseded_by IS NULL;
            CREATE INDEX trueup_pass_findings_by_outcome ON trueup_pass_findings (
                pass_id, outcome_bundle_id, outcome_environment, outcome_original_transaction_id);

            CREATE TABLE trueup_pass_revisions (
                pass_id INTEGER NOT NULL,
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                revision TEXT NOT NULL,
                PRIMARY KEY (pass_id, bundle_id, environment, original_transaction_id)
            ) WITHOUT ROWID;

            CREATE TABLE trueup_history_revisions (
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                revision TEXT NOT NULL,
                PRIMARY KEY (bundle_id, environment, original_transaction_id)
            ) WITHOUT ROWID;

            CREATE TABLE trueup_absences (
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                first_day TEXT NOT NULL,
                last_day TEXT NOT NULL,
                distinct_days INTEGER NOT NULL,
                PRIMARY KEY (bundle_id, environment, original_transaction_id)
            ) WITHOUT ROWID;
            """)
}
