extension Migration {
    /// Where `subscriptions` is a copy of the company's own table in another database: of which
    /// one, as of when, and what is known of each row there.
    static let company = Migration(
        number: 28,
        sql: """
            CREATE TABLE trueup_company (
                only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
                table_name TEXT NOT NULL,
                first_entry INTEGER NOT NULL,
                refresh INTEGER NOT NULL,
                refreshed_at INTEGER,
                row_count INTEGER
            );

            CREATE TABLE trueup_company_rows (
                bundle_id TEXT NOT NULL,
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                refresh INTEGER NOT NULL,
                version INTEGER,
                PRIMARY KEY (bundle_id, environment, original_transaction_id)
            ) WITHOUT ROWID;

            CREATE TABLE trueup_company_restores (
                kept_entry INTEGER NOT NULL,
                lost_entry INTEGER NOT NULL,
                reason TEXT NOT NULL,
                actor TEXT NOT NULL,
                declared_at INTEGER NOT NULL
            );
            """)
}
