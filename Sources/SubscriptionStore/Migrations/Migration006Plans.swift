extension Migration {
    /// The identity of the database, plans by their digest, and a ledger that is only added to.
    ///
    /// Which run's report showed an entry moves into a table of its own, for it changes when a
    /// report never got its final name. `trueup_ledger_is_continued` also stops REPLACE, whose
    /// delete fires no trigger. `trueup_applications` says whose plan a pass works off, or which
    /// run it takes back.
    static let plans = Migration(
        number: 6,
        sql: """
            CREATE TABLE trueup_database (id TEXT NOT NULL);
            INSERT INTO trueup_database VALUES (lower(hex(randomblob(16))));
            CREATE TRIGGER trueup_database_is_not_changed BEFORE UPDATE ON trueup_database
            BEGIN SELECT RAISE(ABORT, 'the identity of a database never changes'); END;
            CREATE TRIGGER trueup_database_is_not_removed BEFORE DELETE ON trueup_database
            BEGIN SELECT RAISE(ABORT, 'the identity of a database never changes'); END;
            CREATE TRIGGER trueup_database_has_one BEFORE INSERT ON trueup_database
            BEGIN SELECT RAISE(ABORT, 'the identity of a database never changes'); END;

            CREATE TABLE trueup_plans (
                plan TEXT PRIMARY KEY,
                planned_by TEXT NOT NULL,
                changes INTEGER NOT NULL,
                applied_by TEXT,
                applied_at INTEGER
            ) WITHOUT ROWID;
            CREATE TABLE trueup_run_plans (
                run_seq INTEGER PRIMARY KEY,
                plan TEXT NOT NULL
            );
            CREATE TABLE trueup_applications (
                pass_id INTEGER PRIMARY KEY,
                plan TEXT,
                undo_of TEXT
            );

            ALTER TABLE trueup_pass_corrections ADD COLUMN rules TEXT NOT NULL DEFAULT '';
            ALTER TABLE trueup_pass_corrections ADD COLUMN undo_of INTEGER;
            DROP INDEX trueup_pass_corrections_by_target;
            CREATE UNIQUE INDEX trueup_pass_corrections_by_target ON trueup_pass_corrections (
                pass_id, bundle_id, environment, original_transaction_id, target, transaction_id,
                ifnull(undo_of, 0))
                WHERE superseded_by IS NULL;

            CREATE TABLE trueup_reported_entries (
                entry INTEGER PRIMARY KEY,
                run_id TEXT NOT NULL
            );
            INSERT INTO trueup_reported_entries
                SELECT entry, reported_run FROM trueup_ledger WHERE reported_run IS NOT NULL;
            CREATE INDEX trueup_reported_entries_by_run ON trueup_reported_entries (run_id);
            DROP INDEX trueup_ledger_by_report;
            ALTER TABLE trueup_ledger DROP COLUMN reported_run;
            ALTER TABLE trueup_ledger ADD COLUMN action TEXT;
            ALTER TABLE trueup_ledger ADD COLUMN host TEXT;
            ALTER TABLE trueup_ledger ADD COLUMN plan TEXT;
            ALTER TABLE trueup_ledger ADD COLUMN row_version INTEGER;
            CREATE INDEX trueup_ledger_by_run ON trueup_ledger (run_id);
            CREATE INDEX trueup_ledger_by_undo ON trueup_ledger (undo_of)
                WHERE undo_of IS NOT NULL;

            CREATE TRIGGER trueup_ledger_is_not_changed BEFORE UPDATE ON trueup_ledger
            BEGIN SELECT RAISE(ABORT, 'the ledger is only added to'); END;
            CREATE TRIGGER trueup_ledger_is_not_cut BEFORE DELETE ON trueup_ledger
            BEGIN SELECT RAISE(ABORT, 'the ledger is only added to'); END;
            CREATE TRIGGER trueup_ledger_is_continued BEFORE INSERT ON trueup_ledger
            WHEN NEW.entry <> 1 + ifnull((SELECT max(entry) FROM trueup_ledger), 0)
                OR NEW.previous_hash <> ifnull(
                    (SELECT hash FROM trueup_ledger ORDER BY entry DESC LIMIT 1),
                    '0000000000000000000000000000000000000000000000000000000000000000')
            BEGIN SELECT RAISE(ABORT, 'an entry of the ledger continues its chain'); END;
            """)
}
