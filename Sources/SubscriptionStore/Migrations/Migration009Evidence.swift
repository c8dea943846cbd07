extension Migration {
    /// Evidence in its compact form, which app it is of, and what may become of it.
    ///
    /// `cuts`: where Apple's header segment was cut out of the decoded payload, byte offsets
    /// separated by commas; NULL where `rest` is the text as received. `erased_at`: then the digest
    /// alone is left, a tombstone. `trueup_run_evidence` counts what each run added;
    /// `expired_through` says up to which payload of an app retention has been carried out.
    static let evidence = Migration(
        number: 9,
        sql: """
            CREATE TABLE trueup_evidence_apps (
                app_id INTEGER PRIMARY KEY,
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                expired_through INTEGER NOT NULL DEFAULT 0,
                UNIQUE (bundle_id, environment)
            );
            ALTER TABLE trueup_evidence ADD COLUMN cuts TEXT;
            ALTER TABLE trueup_evidence ADD COLUMN app_id INTEGER;
            ALTER TABLE trueup_evidence ADD COLUMN received_bytes INTEGER;
            ALTER TABLE trueup_evidence ADD COLUMN erased_at INTEGER;
            ALTER TABLE trueup_evidence ADD COLUMN erased_because TEXT;

            CREATE TABLE trueup_run_evidence (
                run_seq INTEGER PRIMARY KEY,
                statements INTEGER NOT NULL,
                received_bytes INTEGER NOT NULL,
                stored_bytes INTEGER NOT NULL,
                last_evidence_id INTEGER NOT NULL
            );
            """)
}
