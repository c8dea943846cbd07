extension Migration {
    /// When Apple signed the newest verified statement about each subscription that any run has seen,
    /// whatever the run did with it.
    ///
    /// `trueup_pass_corrections.rests_on`: when Apple signed the statement by which the corrected row
    /// was judged; NULL for what reverts a correction, and for plans of earlier versions.
    static let statements = Migration(
        number: 34,
        sql: """
            CREATE TABLE trueup_statements (
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                signed_date INTEGER NOT NULL,
                PRIMARY KEY (bundle_id, environment, original_transaction_id)
            ) WITHOUT ROWID;
            ALTER TABLE trueup_pass_corrections ADD COLUMN rests_on INTEGER;
            """)
}
