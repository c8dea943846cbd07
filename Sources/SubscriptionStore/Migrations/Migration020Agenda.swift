extension Migration {
    /// What must be asked and why, when each row was judged last, and what a run covered.
    ///
    /// `trueup_agenda`: what is owed, whoever asks. `trueup_pass_questions`: what one pass found to be
    /// due, and what the notifications that it alone has read name. `reason` is the place of a reason
    /// among all (docs/delta.md), `turn` the place of a question. `trueup_checks.agreed`: digest of
    /// the values that stood, or were planned to stand, in the row. `trueup_rounds`: when the first
    /// run of a walk over every row began that is not at its end.
    static let agenda = Migration(
        number: 20,
        sql: """
            CREATE TABLE trueup_checks (
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                asked_at INTEGER NOT NULL,
                signed_date INTEGER,
                clock INTEGER,
                is_lasting INTEGER NOT NULL,
                agreed INTEGER NOT NULL,
                PRIMARY KEY (bundle_id, environment, original_transaction_id)
            ) WITHOUT ROWID;
            CREATE INDEX trueup_checks_by_age
                ON trueup_checks (is_lasting, ifnull(signed_date, asked_at), clock);

            CREATE TABLE trueup_agenda (
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                reason INTEGER NOT NULL,
                turn INTEGER NOT NULL,
                since INTEGER NOT NULL,
                rests_on INTEGER,
                attempts INTEGER NOT NULL DEFAULT 0,
                PRIMARY KEY (bundle_id, environment, original_transaction_id)
            ) WITHOUT ROWID;
            CREATE INDEX trueup_agenda_by_turn ON trueup_agenda (
                turn, bundle_id, environment, original_transaction_id);

            CREATE TABLE trueup_pass_questions (
                pass_id INTEGER NOT NULL,
                turn INTEGER NOT NULL,
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                rests_on INTEGER,
                PRIMARY KEY (pass_id, turn, bundle_id, environment, original_transaction_id)
            ) WITHOUT ROWID;

            CREATE TABLE trueup_rounds (job TEXT PRIMARY KEY, began INTEGER NOT NULL) WITHOUT ROWID;

            ALTER TABLE trueup_passes ADD COLUMN scheduled_rows INTEGER;
            ALTER TABLE trueup_passes ADD COLUMN quiet_rows INTEGER;
            ALTER TABLE trueup_passes ADD COLUMN oldest_check INTEGER;
            ALTER TABLE trueup_passes ADD COLUMN sample_seed INTEGER;
            ALTER TABLE trueup_pass_rows ADD COLUMN asked_because INTEGER;
            ALTER TABLE trueup_pass_rows ADD COLUMN signed_date INTEGER;
            ALTER TABLE trueup_pass_rows ADD COLUMN clock INTEGER;
            ALTER TABLE trueup_pass_rows ADD COLUMN is_lasting INTEGER;
            ALTER TABLE trueup_pass_rows ADD COLUMN agreed INTEGER;
            ALTER TABLE trueup_pass_findings ADD COLUMN is_carried INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE trueup_pass_findings ADD COLUMN asked_because TEXT;
            ALTER TABLE trueup_runs ADD COLUMN coverage TEXT;

            INSERT OR IGNORE INTO trueup_agenda
                SELECT t.bundle_id, t.environment, t.original_transaction_id, 0, 0, p.began, NULL, 0
                FROM trueup_touched AS t JOIN trueup_passes AS p ON p.pass_id = t.pass_id
                WHERE p.state = 'open' AND p.mode = 'apply';
            DROP TABLE trueup_touched;
            """)
}
