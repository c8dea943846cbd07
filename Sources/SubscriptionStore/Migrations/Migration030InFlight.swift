extension Migration {
    /// Rows that a run left out as in flight: a pass's rows are deleted once a run closes it, and without
    /// these nobody could tell them from rows that no reason named.
    static let inFlight = Migration(
        number: 30,
        sql: """
            CREATE TABLE trueup_run_in_flight (
                run_seq INTEGER NOT NULL,
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                PRIMARY KEY (run_seq, bundle_id, environment, original_transaction_id)
            ) WITHOUT ROWID;
            """)
}
