extension Migration {
    /// What a run's end must not do in one transaction, however much it found.
    ///
    /// `trueup_reported_ranges`: which entries of the ledger a run's report showed, first and last
    /// included; it takes the place of a row for each entry. `trueup_unremembered_runs`: runs that
    /// have ended and whose findings are not all entered in `trueup_findings` yet; `resolves`: what
    /// they looked for and did not find is to be closed there, too.
    static let turns = Migration(
        number: 19,
        sql: """
            CREATE TABLE trueup_reported_ranges (
                run_id TEXT NOT NULL,
                first_entry INTEGER NOT NULL,
                last_entry INTEGER NOT NULL,
                PRIMARY KEY (run_id, first_entry)
            ) WITHOUT ROWID;
            INSERT INTO trueup_reported_ranges
                SELECT run_id, min(entry), max(entry) FROM (
                    SELECT run_id, entry,
                        entry - row_number() OVER (PARTITION BY run_id ORDER BY entry) AS island
                    FROM trueup_reported_entries)
                GROUP BY run_id, island;
            CREATE INDEX trueup_reported_ranges_by_end ON trueup_reported_ranges (last_entry);
            DROP TABLE trueup_reported_entries;

            CREATE TABLE trueup_unremembered_runs (
                run_seq INTEGER PRIMARY KEY,
                resolves INTEGER NOT NULL
            );
            CREATE INDEX trueup_findings_unresolved ON trueup_findings (finding_id)
                WHERE state IN ('new', 'open', 'recurring', 'acknowledged');

            CREATE INDEX trueup_pass_rows_cut_off ON trueup_pass_rows (pass_id)
                WHERE verdict = 3 AND reason IN ('deadline', 'unavailable', 'rate_limited');
            CREATE INDEX trueup_pass_findings_of_notifications ON trueup_pass_findings (pass_id)
                WHERE kind IN ('notification_missed', 'notification_lost');
            """)
}
