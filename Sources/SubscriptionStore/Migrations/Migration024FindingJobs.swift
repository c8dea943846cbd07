extension Migration {
    /// Which jobs have reported a finding, each of which goes on reporting it; and after which restores
    /// every row was marked to be looked at again, by the lost end of the ledger.
    static let findingJobs = Migration(
        number: 24,
        sql: """
            CREATE TABLE trueup_finding_jobs (
                finding_id TEXT NOT NULL,
                job TEXT NOT NULL,
                PRIMARY KEY (finding_id, job)
            ) WITHOUT ROWID;
            INSERT OR IGNORE INTO trueup_finding_jobs
                SELECT h.finding_id, r.job FROM trueup_findings AS h
                JOIN trueup_runs AS r ON r.pass_id = h.last_pass_id;
            CREATE TABLE trueup_restores (lost_hash TEXT PRIMARY KEY, noticed_at INTEGER NOT NULL)
                WITHOUT ROWID;
            """)
}
